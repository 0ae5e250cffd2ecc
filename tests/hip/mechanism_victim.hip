// HELPER: the job that tests/mechanism stops and starts: does what its standard input says
// LINK: -lhsa-runtime64
//
//   mechanism_victim [--no-runtime] [--queues N]
//
// It has one HIP stream with a kernel that counts for as long as it lives, and N idle queues. It
// prints "ready" and then answers each line it reads with one line.
#include <hsa/hsa.h>
#include <sys/prctl.h>

#include <iostream>
#include <string>
#include <thread>

#include "kfd_control.h"
#include "preempt_counter.h"
#include "processes.h"

namespace {

#define HSA(call) EXPECT((call) == HSA_STATUS_SUCCESS, #call)

hsa_agent_t gpu() {
  hsa_agent_t found{};
  HSA(hsa_init());
  HSA(hsa_iterate_agents(
      [](hsa_agent_t agent, void* out) {
        hsa_device_type_t type;
        hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
        if (type == HSA_DEVICE_TYPE_GPU)
          *static_cast<hsa_agent_t*>(out) = agent;
        return HSA_STATUS_SUCCESS;
      },
      &found));
  return found;
}

hsa_queue_t* create_queue() {
  static const hsa_agent_t agent = gpu();
  hsa_queue_t* queue = nullptr;
  HSA(hsa_queue_create(agent, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, 0, 0, &queue));
  return queue;
}

void on_signal(int) {}

class Victim {
 public:
  explicit Victim(unsigned queues) {
    counter_.launch();
    counter_.wait_for_progress();
    for (unsigned i = 0; i < queues; i++) queues_.push_back(create_queue());
  }
  // False: leave.
  bool obey(const std::string& line) {
    if (line == "value") {
      std::cout << counter_.value() << std::endl;
    } else if (line == "progress") {
      counter_.wait_for_progress();
      std::cout << "progress" << std::endl;
    } else if (line == "create") {
      queues_.push_back(create_queue());
      std::cout << "created" << std::endl;
    } else if (line == "destroy") {
      // May wait until somebody starts the queue: not in the thread that answers.
      std::thread([queue = queues_.back()] {
        HSA(hsa_queue_destroy(queue));
        std::cout << "destroyed" << std::endl;
      }).detach();
      queues_.pop_back();
    } else if (line == "fork") {
      const pid_t child = fork();
      if (child == 0)
        _exit(0);
      std::cout << "forked " << wait_for(child) << std::endl;
    } else if (line == "signal") {
      signal(SIGUSR1, on_signal);
      EXPECT(raise(SIGUSR1) == 0, "raise");
      std::cout << "survived" << std::endl;
    } else if (line == "exec") {
      execlp("sleep", "sleep", "1000", nullptr);
    } else if (line == "end") {
      counter_.finish();
      return false;
    } else {
      EXPECT(false, "unknown command %s", line.c_str());
    }
    return true;
  }

 private:
  Counter counter_;
  std::vector<hsa_queue_t*> queues_;
};

}  // namespace

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  bool runtime = true;
  unsigned queues = 0;
  for (int i = 1; i < argc; i++) {
    if (std::strcmp(argv[i], "--no-runtime") == 0)
      runtime = false;
    else if (std::strcmp(argv[i], "--queues") == 0)
      queues = static_cast<unsigned>(std::atoi(argv[++i]));
  }
  kfd::Control control;
  if (runtime)
    control.enable_runtime();
  Victim victim(queues);
  std::cout << "ready" << std::endl;
  std::string line;
  while (std::getline(std::cin, line) && victim.obey(line)) {
  }
  if (runtime) {
    // As ROCr 6 does when it shuts down; waits for the answer of a debugger that is attached.
    kfd::RuntimeEnableArgs off{};
    EXPECT(ioctl(control.fd(), kfd::kRuntimeEnable, &off) == 0, "disable the runtime");
  }
  std::cout << "ended" << std::endl;
  return 0;
}
