// HELPER: the program that tests/agent loads the agent into: does what its standard input says
// LINK: -pthread -lhsa-runtime64
//
// It answers each line with one line, "ok" if all is well. Results of the workload are compared
// with those of its first run.
#include <hsa/hsa.h>
#include <poll.h>
#include <sys/wait.h>

#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "bare_queues.h"
#include "kfd_control.h"
#include "preempt_counter.h"
#include "preempt_workload.h"
// After hip_runtime.h, on which this header of HIP 5.2 silently depends.
#include <hip/hip_cooperative_groups.h>

namespace {

constexpr u32 kCount = 1024;

__global__ void add(u32* cells, u32 value) { cells[global_thread()] += value; }
__global__ void add_together(u32* cells, u32 value) {
  cooperative_groups::this_grid().sync();
  cells[global_thread()] += value;
}

// Adds 1 by a launch of the kind that is asked for, and looks whether that happened.
template <class Launch>
std::string check_launch(hipStream_t stream, Launch launch) {
  DeviceArray<u32> cells(kCount);
  cells.zero();
  HIP(hipStreamSynchronize(nullptr));  // not of the device: the counter may be counting
  launch(static_cast<u32*>(cells));
  HIP(hipGetLastError());
  HIP(hipStreamSynchronize(stream));
  for (u32 value : cells.read()) {
    if (value != 1)
      return "wrong";
  }
  return "ok";
}

std::string on_stream(hipStream_t stream) {
  return check_launch(stream, [&](u32* cells) { add<<<kCount / 64, 64, 0, stream>>>(cells, 1); });
}

std::string with_new_stream(const std::function<std::string(hipStream_t)>& act) {
  hipStream_t stream;
  HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  std::string answer = act(stream);
  HIP(hipStreamDestroy(stream));
  return answer;
}

std::string graph(hipStream_t stream) {
  return check_launch(stream, [&](u32* cells) {
    hipGraph_t graph;
    hipGraphExec_t exec;
    HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
    add<<<kCount / 64, 64, 0, stream>>>(cells, 1);
    HIP(hipStreamEndCapture(stream, &graph));
    HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    HIP(hipGraphLaunch(exec, stream));
    HIP(hipStreamSynchronize(stream));
    HIP(hipGraphExecDestroy(exec));
    HIP(hipGraphDestroy(graph));
  });
}

std::string cooperative() {
  return check_launch(nullptr, [](u32* cells) {
    u32 one = 1;
    void* arguments[] = {&cells, &one};
    HIP(hipLaunchCooperativeKernel(reinterpret_cast<void*>(add_together), dim3(kCount / 128),
                                   dim3(128), arguments, 0, nullptr));
  });
}

// Copies through pinned memory with kernels in between.
std::string copies(hipStream_t stream) {
  u32* host = nullptr;
  HIP(hipHostMalloc(reinterpret_cast<void**>(&host), kCount * 4));
  DeviceArray<u32> cells(kCount);
  for (u32 round = 0; round < 20; round++) {
    for (u32 i = 0; i < kCount; i++) host[i] = i * round;
    HIP(hipMemcpyAsync(cells, host, kCount * 4, hipMemcpyHostToDevice, stream));
    add<<<kCount / 64, 64, 0, stream>>>(cells, 7);
    HIP(hipMemcpyAsync(host, cells, kCount * 4, hipMemcpyDeviceToHost, stream));
    HIP(hipStreamSynchronize(stream));
    for (u32 i = 0; i < kCount; i++) {
      if (host[i] != i * round + 7)
        return "wrong";
    }
  }
  HIP(hipHostFree(host));
  return "ok";
}

std::string threads(u32 count) {
  std::atomic<u32> wrong{0};
  std::vector<std::thread> all;
  for (u32 i = 0; i < count; i++) {
    all.emplace_back([&] {
      for (u32 round = 0; round < 10; round++) {
        if (with_new_stream(on_stream) != "ok")
          wrong++;
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  return wrong == 0 ? "ok" : "wrong";
}

__global__ void append(u32* cell, u32 digit) { *cell = *cell * 31 + digit; }

// More kernels than HIP has signals for and than a ring has places, in an order that shows.
std::string burst() {
  constexpr u32 kStreams = 4, kRounds = 250;
  DeviceArray<u32> cells(kStreams);
  cells.zero();
  HIP(hipStreamSynchronize(nullptr));
  std::vector<hipStream_t> streams(kStreams);
  hipEvent_t event;
  HIP(hipEventCreate(&event));
  for (hipStream_t& stream : streams) HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  u32 expected = 0;
  for (u32 round = 0; round < kRounds; round++) {
    for (u32 i = 0; i < kStreams; i++) {
      append<<<1, 1, 0, streams[i]>>>(cells + i, round);
      HIP(hipEventRecord(event, streams[i]));
    }
    expected = expected * 31 + round;
  }
  for (hipStream_t stream : streams) {
    HIP(hipStreamSynchronize(stream));
    HIP(hipStreamDestroy(stream));
  }
  HIP(hipEventDestroy(event));
  for (u32 value : cells.read()) {
    if (value != expected)
      return "wrong";
  }
  return "ok";
}

// The child lives until nobody holds the other end of our standard input.
std::string fork_one() {
  const pid_t child = fork();
  if (child == 0) {
    pollfd input = {STDIN_FILENO, 0, 0};  // waits for its end alone: what is said is for the parent
    while (poll(&input, 1, -1) != 1) {
    }
    _exit(0);
  }
  return child > 0 ? "ok" : "no fork";
}

class Puppet {
 public:
  std::string obey(const std::string& line) {
    if (line == "launch") {
      counter_.emplace();
      counter_->launch();
    } else if (line == "launch another") {
      another_.emplace();
      another_->launch();
    } else if (line == "another value") {
      return std::to_string(another_->value());
    } else if (line == "another progress") {
      another_->wait_for_progress();
    } else if (line == "progress") {
      counter_->wait_for_progress();
    } else if (line == "value") {
      return std::to_string(counter_->value());
    } else if (line == "finish") {
      counter_->finish();
    } else if (line == "work") {
      return work();
    } else if (line == "enable runtime") {  // as ROCr 6 does, for debuggers from outside
      control_.emplace();
      control_->enable_runtime();
    } else if (line == "default") {
      return on_stream(nullptr);
    } else if (line == "stream") {
      return with_new_stream(on_stream);
    } else if (line == "thread stream") {
      return on_stream(hipStreamPerThread);
    } else if (line == "graph") {
      return with_new_stream(graph);
    } else if (line == "cooperative") {
      return cooperative();
    } else if (line == "copies") {
      return with_new_stream(copies);
    } else if (line == "threads") {
      return threads(8);
    } else if (line == "burst") {
      return burst();
    } else if (line == "shut down") {
      return hsa_shut_down() == HSA_STATUS_SUCCESS ? "ok" : "refused";
    } else if (line == "fork") {
      return fork_one();
    } else {
      return obey_with_bare_queues(line);
    }
    return "ok";
  }

 private:
  std::string obey_with_bare_queues(const std::string& line) {
    if (line == "many queues") {
      many_.emplace(80);
    } else if (line == "two queues") {
      many_.emplace(2);
    } else if (line == "queues left") {
      return std::to_string(many_->left());
    } else if (line == "no queues") {
      many_.reset();
    } else if (line == "reserve") {
      reserved_.emplace();
    } else if (line == "use reserved") {
      reserved_->use();
    } else if (line == "short row") {
      row_.emplace(12);
    } else if (line == "long row") {
      row_.emplace(1000);
    } else if (line == "row submitted") {
      return std::to_string(row_->submitted());
    } else if (line == "row go") {
      row_->go();
    } else if (line == "row left") {
      return std::to_string(row_->left());
    } else {
      return "what?";
    }
    return "ok";
  }
  std::string work() {
    if (!workload_)
      workload_ = std::make_unique<Workload>();
    Results results = workload_->run();
    if (!first_)
      first_ = results;
    return results == *first_ ? "ok" : "differs";
  }

  std::optional<kfd::Control> control_;
  std::optional<Counter> counter_, another_;
  std::optional<ManyQueues> many_;
  std::optional<ReservedPlace> reserved_;
  std::optional<Row> row_;
  std::unique_ptr<Workload> workload_;
  std::optional<Results> first_;
};

}  // namespace

int main(int argc, char** argv) {
  Puppet puppet;
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "exit")
      std::exit(0);
    if (line == "exec") {
      execv("/proc/self/exe", argv);
      return 1;
    }
    std::cout << puppet.obey(line) << std::endl;
  }
  return argc > 0 ? 0 : 1;
}
