// TEST: of two queues that wait for a full device, the one of higher priority gets it first
// RUN: --cus 1 --workers 1
#include "hsa_program.h"

int main() {
  Machine machine;
  const Kernel hold = machine.kernel("hold"), note = machine.kernel("note_order");
  hsa_queue_t *first = machine.queue(), *low = machine.queue(), *high = machine.queue();
  HSA(hsa_amd_queue_set_priority(low, HSA_AMD_QUEUE_PRIORITY_LOW));
  HSA(hsa_amd_queue_set_priority(high, HSA_AMD_QUEUE_PRIORITY_HIGH));
  for (int round = 0; round < 5; round++) {
    auto* flags = machine.shared<u32>(2);
    auto* order = machine.shared<u32>(3);
    // Each asks for all of the one CU's LDS.
    const hsa_signal_t done = machine.signal(3);
    dispatch(first, hold, machine.arguments(flags, flags + 1), {.group_size = 65536, .done = done});
    while (__atomic_load_n(flags, __ATOMIC_ACQUIRE) == 0) {
    }
    dispatch(low, note, machine.arguments(order, order + 1, 1u),
             {.group_size = 65536, .done = done});
    dispatch(high, note, machine.arguments(order, order + 1, 2u),
             {.group_size = 65536, .done = done});
    usleep(20'000);  // the device looks at both rings meanwhile; nothing says when it has
    __atomic_store_n(flags + 1, 1u, __ATOMIC_RELEASE);
    wait_for(done);
    EXPECT(order[1] == 2 && order[2] == 1, "round %d: %u went first", round, order[1]);
  }
  return pass("queue priority");
}
