#include "hammer.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <string>

#include "preempt.h"

namespace {

class Hammer {
 public:
  Hammer(unsigned seed, std::vector<pid_t> targets) : random_(seed), targets_(targets) {}

  // Any result is right that the driver may give while others act at the same time; what counts is
  // the state when all is quiet, and that the kernel has nothing to complain about.
  void call() {
    switch (pick(8)) {
      case 0:
        if (queues_.size() < 4)
          queues_.push_back(client_.create_queue(pick(2), pick(16)));
        break;
      case 1:
        if (!queues_.empty()) {
          client_.destroy_queue(queues_.back());
          queues_.pop_back();
        }
        break;
      case 2:
        if (leases_.size() < 4)
          leases_.push_back(create_lease(client_, pick(2) ? long_enough_ms : 1 + pick(20)));
        break;
      case 3:
        if (!leases_.empty()) {
          close(leases_.back());
          leases_.pop_back();
        }
        break;
      case 4:
      case 5: release(client_, lease(), target()); break;
      default: hold(client_, lease(), target(), pick(2) ? 0 : 5);
    }
  }

 private:
  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
  int lease() {
    return leases_.empty() ? -1 : leases_[pick(static_cast<unsigned>(leases_.size()))];
  }
  kfd_preempt_entry target() {
    uint32_t queue = pick(3) == 0 ? all_queues : pick(5);
    return entry(targets_[pick(static_cast<unsigned>(targets_.size()))], queue);
  }

  std::mt19937 random_;
  std::vector<pid_t> targets_;
  Client client_;
  std::vector<int> leases_;
  std::vector<int> queues_;
};

}  // namespace

int hammer_main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::vector<pid_t> targets = {0};
  for (int i = 4; i < argc; i++) targets.push_back(atoi(argv[i]));
  Hammer hammer(static_cast<unsigned>(atoi(argv[2])), targets);
  for (int i = 0; i < atoi(argv[3]); i++) hammer.call();
  return 0;
}

pid_t start_hammer(unsigned seed, unsigned calls, const std::vector<pid_t>& targets) {
  std::vector<std::string> words = {"hammer", "--hammer", std::to_string(seed),
                                    std::to_string(calls)};
  for (pid_t pid : targets) words.push_back(std::to_string(pid));
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = fork();
  if (pid == 0) {
    execv("/proc/self/exe", argv.data());
    _exit(1);
  }
  return pid;
}
