// TEST: 65 queues on 8 hardware slots all get their turn, though their kernels wait for each other
// RUN: --hqds 8
// TIMEOUT: 180
#include "hsa_program.h"

int main() {
  Machine machine;
  constexpr u32 kQueues = 65;
  const Kernel meet = machine.kernel("meet");
  auto* arrived = machine.shared<u32>(1);
  const hsa_signal_t done = machine.signal(kQueues);
  std::vector<hsa_queue_t*> queues;
  for (u32 i = 0; i < kQueues; i++) queues.push_back(machine.queue(64));
  // No kernel ends before the last has begun: a device that let the first eight finish would hang.
  for (hsa_queue_t* queue : queues) {
    dispatch(queue, meet, machine.arguments(arrived, kQueues), {.done = done});
  }
  wait_for(done);
  EXPECT(*arrived == kQueues, "%u kernels met", *arrived);
  for (hsa_queue_t* queue : queues) HSA(hsa_queue_destroy(queue));
  return pass("65 queues on 8 slots");
}
