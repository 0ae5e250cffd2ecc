// How long a stop of one job takes that has a queue on every GPU of the machine: `kernel`, one call
// of the driver. bench/run starts it on machines of 1, 2 and 8 GPUs whose unmap takes a set time:
// the GPUs are to be stopped in the time of the slowest, not in the sum of all.
//
//   stop_gpus [CYCLES]     under `vgpu run --kernel-patches on`; prints one JSON object
#include <hsa/hsa.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "mechanism/controller.h"
#include "mechanism/target_process.h"

namespace {

using namespace gp;
using namespace gp::mechanism;

[[noreturn]] void fail(const char* what, const char* why = "") {
  std::fprintf(stderr, "stop_gpus: %s %s\n", what, why);
  std::exit(1);
}

// One queue on each GPU; how many.
int create_queues() {
  int gpus = 0;
  if (hsa_init() != HSA_STATUS_SUCCESS) {
    fail("no device");
  }
  hsa_iterate_agents(
      [](hsa_agent_t agent, void* count) {
        hsa_device_type_t type;
        hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
        hsa_queue_t* queue = nullptr;
        if (type == HSA_DEVICE_TYPE_GPU) {
          ++*static_cast<int*>(count);
          if (hsa_queue_create(agent, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, 0, 0, &queue) !=
              HSA_STATUS_SUCCESS) {
            fail("hsa_queue_create");
          }
        }
        return HSA_STATUS_SUCCESS;
      },
      &gpus);
  return gpus;
}

double median_ms(std::vector<u64> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return static_cast<double>(values[values.size() / 2]) / 1'000'000;
}

}  // namespace

int main(int argc, char** argv) {
  const int cycles = argc > 1 ? std::atoi(argv[1]) : 20;
  const int gpus = create_queues();
  auto controller = Controller::create();
  if (!controller) {
    fail("controller");
  }
  const Target self{{getpid(), process_state(getpid())->start_time}, {}};
  LeaseOptions options;
  options.mechanism = Mechanism::kernel;
  std::vector<u64> in_driver;
  for (int i = 0; i < cycles; i++) {
    options.deadline = Clock::now() + std::chrono::minutes(1);
    const auto lease = (*controller)->stop({&self, 1}, options);
    if (!lease) {
      fail("stop:", lease.error().message().c_str());
    }
    if (const auto started = (*controller)->start(lease->lease); !started) {
      fail("start:", started.error().message().c_str());
    }
    in_driver.push_back(lease->times.driver_ns);
  }
  std::printf("{\"stop_%d_gpus_ms_p50\": %.2f}\n", gpus, median_ms(std::move(in_driver)));
  return 0;
}
