// HELPER: one program with streams of high, low and normal priority, for tests/daemon
//
// It answers each line with one line. A stream is named "high", "low" or "normal".
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include "check.h"
#include "preempt_counter.h"

namespace {

__global__ void append(u32* cell, u32 digit) { *cell = *cell * 31 + digit; }

// Iterates for a while, so that a stop comes in the middle.
__global__ void iterate(u32* data, u32 rounds) {
  u32 x = data[global_thread()];
  for (u32 i = 0; i < rounds; i++) x = x * 1664525u + 1013904223u;
  data[global_thread()] = x;
}

class Stream {
 public:
  explicit Stream(int priority) : priority_(priority) {
    HIP(hipStreamCreateWithPriority(&stream_, hipStreamNonBlocking, priority));
  }
  hipStream_t get() const { return stream_; }

  // Endless work that counts, on another stream of the same priority.
  void launch() {
    counter_ = std::make_unique<Counter>(priority_);
    counter_->launch();
  }
  void finish() { counter_->finish(); }
  u32 value() const { return counter_->value(); }

 private:
  int priority_;
  hipStream_t stream_;
  std::unique_ptr<Counter> counter_;
};

class Program {
 public:
  Program() {
    int least, greatest;
    HIP(hipDeviceGetStreamPriorityRange(&least, &greatest));
    high_ = std::make_unique<Stream>(greatest);
    low_ = std::make_unique<Stream>(least);
    normal_ = std::make_unique<Stream>(0);
  }

  std::string obey(const std::string& line) {
    std::istringstream words(line);
    std::string verb, name;
    words >> verb >> name;
    if (verb == "wait") {
      return wait_across(name == "chain");
    }
    Stream& stream = name == "high" ? *high_ : name == "low" ? *low_ : *normal_;
    if (verb == "launch") {
      stream.launch();
    } else if (verb == "finish") {
      stream.finish();
    } else if (verb == "value") {
      return std::to_string(stream.value());
    } else if (verb == "work") {
      return work(stream.get());
    } else {
      return "what?";
    }
    return "ok";
  }

 private:
  // A hundred kernels in order: "ok" if the result is that of the CPU. Nothing is freed here: that
  // would wait for the endless work of other streams.
  std::string work(hipStream_t stream) {
    constexpr u32 kKernels = 100;
    cell_.zero();
    HIP(hipStreamSynchronize(nullptr));
    u32 expected = 0;
    for (u32 i = 0; i < kKernels; i++) {
      append<<<1, 1, 0, stream>>>(cell_, i);
      expected = expected * 31 + i;
    }
    HIP(hipStreamSynchronize(stream));
    return cell_.read()[0] == expected ? "ok" : "wrong";
  }

  // The high stream waits for an event of the low one, which has much to do before; in a chain, for
  // one of the normal stream, which waits for that.
  std::string wait_across(bool chain) {
    constexpr u32 kThreads = 64, kRounds = 3000, kKernels = 30;
    DeviceArray<u32> data(std::vector<u32>(kThreads, 1)), cell(1);
    cell.zero();
    hipEvent_t event, second;
    HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming));
    HIP(hipEventCreateWithFlags(&second, hipEventDisableTiming));
    for (u32 i = 0; i < kKernels; i++) {
      iterate<<<1, kThreads, 0, low_->get()>>>(data, kRounds);
    }
    HIP(hipEventRecord(event, low_->get()));
    if (chain) {
      HIP(hipStreamWaitEvent(normal_->get(), event, 0));
      HIP(hipEventRecord(second, normal_->get()));
    }
    HIP(hipStreamWaitEvent(high_->get(), chain ? second : event, 0));
    append<<<1, 1, 0, high_->get()>>>(cell, 7);
    HIP(hipStreamSynchronize(high_->get()));
    HIP(hipStreamSynchronize(low_->get()));
    HIP(hipEventDestroy(event));
    HIP(hipEventDestroy(second));
    u32 expected = 1;
    for (u32 i = 0; i < kRounds * kKernels; i++) expected = expected * 1664525u + 1013904223u;
    return cell.read()[0] == 7 && data.read()[kThreads - 1] == expected ? "ok" : "wrong";
  }

  std::unique_ptr<Stream> high_, low_, normal_;
  DeviceArray<u32> cell_{1};
};

}  // namespace

int main() {
  Program program;
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << program.obey(line) << std::endl;
  }
  return 0;
}
