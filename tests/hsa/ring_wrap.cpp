// TEST: a small ring that wraps many times, fed by several threads, runs every packet once
#include <thread>

#include "hsa_program.h"

int main() {
  Machine machine;
  constexpr u32 kThreads = 4, kEach = 2000;
  hsa_queue_t* queue = machine.queue(64);
  const hsa_signal_t done = machine.signal(kThreads * kEach);
  std::vector<std::thread> threads;
  for (u32 t = 0; t < kThreads; t++) {
    threads.emplace_back([&] {
      for (u32 i = 0; i < kEach; i++) barrier_and(queue, {}, done, i % 2 == 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  wait_for(done);
  EXPECT(hsa_queue_load_read_index_scacquire(queue) == kThreads * kEach, "the read index is %llu",
         (unsigned long long)hsa_queue_load_read_index_scacquire(queue));
  HSA(hsa_queue_destroy(queue));
  return pass("ring wrap");
}
