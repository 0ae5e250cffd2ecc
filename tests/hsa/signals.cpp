// TEST: many threads wait for signals the GPU sets, and asynchronous handlers are called
#include <thread>

#include "hsa_program.h"

int main() {
  Machine machine;
  hsa_queue_t* queue = machine.queue();
  std::vector<std::thread> threads;
  for (u32 t = 0; t < 8; t++) {
    threads.emplace_back([&] {
      for (u32 i = 0; i < 50; i++) {
        const hsa_signal_t done = machine.signal(1);
        barrier_and(queue, {}, done, false);
        wait_for(done);
        HSA(hsa_signal_destroy(done));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  std::atomic<int> called{0};
  const hsa_signal_t watched = machine.signal(1);
  HSA(hsa_amd_signal_async_handler(
      watched, HSA_SIGNAL_CONDITION_EQ, 0,
      [](hsa_signal_value_t, void* data) {
        static_cast<std::atomic<int>*>(data)->fetch_add(1);
        return false;
      },
      &called));
  barrier_and(queue, {}, watched);
  while (called == 0) usleep(100);
  EXPECT(called == 1, "the handler was called %d times", called.load());
  HSA(hsa_queue_destroy(queue));
  return pass("signals");
}
