// A program that is stopped, on whichever release of ROCr it is started with. Each line of input is
// a command, answered by one line:
//   library   the path of the runtime it runs on
//   launch    work on two queues: one counts until it is told to end, one computes
//   value     the counter
//   progress  "ok" when the counter has moved on
//   finish    ends the counting; "exact" if both queues have done what the CPU says they do
#include <dlfcn.h>

#include <iostream>
#include <string>

#include "hsa/hsa_program.h"

namespace {

constexpr u32 kThreads = 256, kRounds = 20'000;

u32 iterated(u32 x) {
  for (u32 round = 0; round < kRounds; ++round) {
    x = x * 1664525u + 1013904223u;
  }
  return x;
}

class Work {
 public:
  void launch() {
    // Goes through AMD's table, as the queues themselves go through the core table.
    HSA(hsa_amd_queue_set_priority(computing_, HSA_AMD_QUEUE_PRIORITY_LOW));
    *stop_ = *counter_ = 0;
    for (u32 i = 0; i < kThreads; ++i) {
      data_[i] = i;
    }
    hsa_signal_store_screlease(done_, 2);
    dispatch(counting_, machine_.kernel("count_until"), machine_.arguments(stop_, counter_),
             {.done = done_});
    dispatch(computing_, machine_.kernel("iterate"), machine_.arguments(data_, kRounds),
             {.threads = kThreads, .done = done_});
  }
  u32 value() const { return __atomic_load_n(counter_, __ATOMIC_ACQUIRE); }
  void wait_for_progress() const {
    const u32 before = value();
    while (value() == before) {
      usleep(100);
    }
  }
  bool finish() {
    while (value() == 0) {  // told to end before it has begun it would not count at all
      usleep(100);
    }
    __atomic_store_n(stop_, 1u, __ATOMIC_RELEASE);
    wait_for(done_);
    for (u32 i = 0; i < kThreads; ++i) {
      if (data_[i] != iterated(i)) {
        return false;
      }
    }
    return true;
  }

 private:
  Machine machine_;
  hsa_queue_t* counting_ = machine_.queue();
  hsa_queue_t* computing_ = machine_.queue();
  u32* stop_ = machine_.shared<u32>(1);
  u32* counter_ = machine_.shared<u32>(1);
  u32* data_ = machine_.shared<u32>(kThreads);
  hsa_signal_t done_ = machine_.signal(2);
};

const char* library() {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(hsa_init), &info) != 0 ? info.dli_fname : "unknown";
}

std::string answer(Work& work, const std::string& command) {
  if (command == "library") {
    return library();
  }
  if (command == "launch") {
    work.launch();
    return "ok";
  }
  if (command == "value") {
    return std::to_string(work.value());
  }
  if (command == "progress") {
    work.wait_for_progress();
    return "ok";
  }
  return work.finish() ? "exact" : "wrong";
}

}  // namespace

int main() {
  Work work;
  std::cout << "ready" << std::endl;
  for (std::string command; std::getline(std::cin, command);) {
    std::cout << answer(work, command) << std::endl;
  }
}
