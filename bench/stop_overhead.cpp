// Our own time around a stop of 64 queues: from the call of Controller::stop() to the entry of the
// driver, and from its return to ours. The driver's time is not ours and is printed apart: on the
// virtual GPU it means nothing.
//
//   stop_overhead [CYCLES]     under `vgpu run`; prints one JSON object
#include <hsa/hsa.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kfd/calls.h"
#include "mechanism/controller.h"
#include "mechanism/target_process.h"

namespace {

using namespace gp;
using namespace gp::mechanism;
using gp::u64;

constexpr int kQueues = 64;

[[noreturn]] void fail(const char* what, const char* why = "") {
  std::fprintf(stderr, "stop_overhead: %s %s\n", what, why);
  std::exit(1);
}

// RUNTIME_ENABLE first: the old ROCr does not, and without it nothing can be stopped.
void create_queues() {
  auto kfd = open_kfd();
  if (!kfd || gp::kfd::enable_runtime({kfd->get()}) < 0 || hsa_init() != HSA_STATUS_SUCCESS) {
    fail("no device");
  }
  hsa_agent_t gpu{};
  hsa_iterate_agents(
      [](hsa_agent_t agent, void* out) {
        hsa_device_type_t type;
        hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
        if (type == HSA_DEVICE_TYPE_GPU) {
          *static_cast<hsa_agent_t*>(out) = agent;
        }
        return HSA_STATUS_SUCCESS;
      },
      &gpu);
  for (int i = 0; i < kQueues; i++) {
    hsa_queue_t* queue = nullptr;
    if (hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, 0, 0, &queue) !=
        HSA_STATUS_SUCCESS) {
      fail("hsa_queue_create");
    }
  }
}

double median_us(std::vector<u64>& values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return static_cast<double>(values[values.size() / 2]) / 1000;
}

// The median of our own time, in us.
double measure(Controller& controller, pid_t pid, Mechanism id, int cycles) {
  std::vector<u64> before, after, own, driver;
  const Target target{{pid, process_state(pid)->start_time}, {}};
  LeaseOptions options;
  options.deadline = Clock::now() + std::chrono::minutes(1);
  options.mechanism = id;
  for (int i = 0; i < cycles; i++) {
    const auto lease = controller.stop({&target, 1}, options);
    if (!lease) {
      fail("stop:", lease.error().message().c_str());
    }
    if (const auto started = controller.start(lease->lease); !started) {
      fail("start:", started.error().message().c_str());
    }
    if (i > 0) {  // the first attaches
      before.push_back(lease->times.before_ns);
      after.push_back(lease->times.after_ns);
      own.push_back(lease->times.before_ns + lease->times.after_ns);
      driver.push_back(lease->times.driver_ns);
    }
  }
  std::fprintf(stderr, "%s: before %.2f us, driver (virtual) %.2f us, after %.2f us\n",
               info_of(id).name, median_us(before), median_us(driver), median_us(after));
  return median_us(own);
}

}  // namespace

int main(int argc, char** argv) {
  const int cycles = argc > 1 ? std::atoi(argv[1]) : 300;
  int ready[2];
  if (pipe(ready) != 0) {
    fail("pipe");
  }
  const pid_t victim = fork();
  if (victim == 0) {
    create_queues();
    if (write(ready[1], "x", 1) != 1) {
      _exit(1);
    }
    for (;;) {
      pause();
    }
  }
  char byte = 0;
  if (read(ready[0], &byte, 1) != 1) {
    fail("the victim did not start");
  }
  create_queues();
  auto controller = Controller::create();
  if (!controller) {
    fail("controller");
  }
  const double own = measure(**controller, getpid(), Mechanism::self_debug, cycles);
  const double handover = measure(**controller, victim, Mechanism::debugger, cycles);
  std::printf("{\"stop_own_us_p50\": %.2f, \"stop_handover_us_p50\": %.2f}\n", own, handover);
  controller->reset();
  kill(victim, SIGKILL);
  waitpid(victim, nullptr, 0);
  return 0;
}
