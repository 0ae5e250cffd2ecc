// TEST: packets without the barrier bit overlap; one with it waits for all before it
#include "hsa_program.h"

int main() {
  Machine machine;
  hsa_queue_t* queue = machine.queue();
  const Kernel meet = machine.kernel("meet"), note = machine.kernel("note_order");
  auto* arrived = machine.shared<u32>(1);
  auto* order = machine.shared<u32>(8);

  // Four kernels that wait for each other can only end if they run at the same time.
  const hsa_signal_t done = machine.signal(6);
  for (u32 i = 0; i < 4; i++) {
    dispatch(queue, meet, machine.arguments(arrived, 4u), {.done = done});
  }
  // These follow in order: each has the barrier bit.
  for (u32 i = 0; i < 2; i++) {
    dispatch(queue, note, machine.arguments(order, order + 1, 100 + i),
             {.barrier = true, .done = done});
  }
  wait_for(done);
  EXPECT(*arrived == 4, "%u kernels met", *arrived);
  EXPECT(order[1] == 100 && order[2] == 101, "the order is %u, %u", order[1], order[2]);

  // A kernel that is held keeps a barrier packet behind it waiting, but not an overlapping one.
  auto* flags = machine.shared<u32>(2);
  const Kernel hold = machine.kernel("hold"), store = machine.kernel("store_value");
  auto* values = machine.shared<u32>(2);
  const hsa_signal_t overlapped = machine.signal(1), after = machine.signal(1);
  dispatch(queue, hold, machine.arguments(flags, flags + 1), {});
  dispatch(queue, store, machine.arguments(values, 7u), {.done = overlapped});
  dispatch(queue, store, machine.arguments(values + 1, 8u), {.barrier = true, .done = after});
  wait_for(overlapped);
  EXPECT(values[0] == 7 && values[1] == 0, "the packets stored %u and %u", values[0], values[1]);
  __atomic_store_n(flags + 1, 1u, __ATOMIC_RELEASE);
  wait_for(after);
  EXPECT(values[1] == 8, "the last packet stored %u", values[1]);
  HSA(hsa_queue_destroy(queue));
  return pass("packet overlap");
}
