// Threads that take turns at one loop: one leads, the others wait. A leader that has something slow
// to do passes the lead on, does it itself, and waits for its next turn. What the leader touches
// needs no other lock: passing the lead on is what makes it visible to the next.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "libc/types.h"

namespace gp::daemon {

class Leadership {
 public:
  // What a thread has while it runs the loop. It leads, except in pass_on().
  class Turn {
   public:
    // `slow` runs while another thread leads.
    void pass_on(const std::function<void()>& slow);
    // Makes sure that somebody waits for the lead: the first pass_on() then starts no thread.
    void prepare();

   private:
    friend Leadership;
    explicit Turn(Leadership& leadership);
    void wait();
    Leadership& leadership_;
    std::unique_lock<std::mutex> lead_;
  };
  using Loop = std::function<void(Turn&)>;

  // Runs `loop` in this thread, and in others as they are needed; returns when all have returned
  // from it. Whatever ends it in one must end it in all.
  void run(const Loop& loop);

 private:
  static constexpr u32 kMostThreads = 4;  // if all are in slow calls, the loop waits

  std::mutex lead_;
  std::atomic<u32> waiting_{0};  // threads that will take the lead when they can
  Loop loop_;                    // the rest: the leader's
  bool ending_ = false;          // nobody is added any more
  std::vector<std::thread> followers_;
};

}  // namespace gp::daemon
