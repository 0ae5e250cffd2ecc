// TEST: a packet the processor cannot run stops its queue with an error; other queues go on
#include "hsa_program.h"

static std::atomic<int> reported{HSA_STATUS_SUCCESS};

int main() {
  Machine machine;
  hsa_queue_t* bad = nullptr;
  HSA(hsa_queue_create(
      machine.gpus[0], 64, HSA_QUEUE_TYPE_MULTI,
      [](hsa_status_t status, hsa_queue_t*, void*) { reported = status; }, nullptr, UINT32_MAX,
      UINT32_MAX, &bad));
  hsa_queue_t* good = machine.queue();

  // A work-group of 2048 lanes is more than the hardware takes.
  const Kernel store = machine.kernel("store_value");
  auto* cells = machine.shared<u32>(2);
  dispatch(bad, store, machine.arguments(cells, 1u), {.threads = 2048, .block = 2048});
  while (reported == HSA_STATUS_SUCCESS) usleep(100);
  EXPECT(cells[0] == 0, "the kernel ran");

  const hsa_signal_t done = machine.signal(1);
  dispatch(good, store, machine.arguments(cells + 1, 5u), {.done = done});
  wait_for(done);
  EXPECT(cells[1] == 5, "the other queue stored %u", cells[1]);
  std::printf("the queue reported %#x\n", reported.load());
  return pass("queue error");
}
