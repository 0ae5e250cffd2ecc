// Barrier round trip, and what it costs to take all queues of a node off the hardware and put them
// back, with 1 and with 64 queues that each hold an idle wave. Prints one JSON object.
#include "hsa_program.h"
#include "kfd_control.h"
#include "measure.h"

static std::vector<double> barrier_times(const Machine& machine, unsigned count) {
  hsa_queue_t* queue = machine.queue();
  const hsa_signal_t done = machine.signal(1);
  std::vector<double> times;
  for (unsigned i = 0; i < count; i++) {
    hsa_signal_store_relaxed(done, 1);
    times.push_back(seconds_of([&] {
      barrier_and(queue, {}, done);
      wait_for(done, 0, HSA_WAIT_STATE_ACTIVE);
    }));
  }
  HSA(hsa_queue_destroy(queue));
  return times;
}

// Microseconds per queue for one unmap and map of `count` queues with a sleeping wave each.
static double unmap_map_us_per_queue(Machine& machine, kfd::Control& control, unsigned count) {
  const Kernel hold = machine.kernel("hold");
  auto* flags = machine.shared<u32>(2);
  const hsa_signal_t done = machine.signal(count);
  std::vector<hsa_queue_t*> queues;
  for (unsigned i = 0; i < count; i++) {
    queues.push_back(machine.queue(64));
    dispatch(queues[i], hold, machine.arguments(flags, flags + 1), {.done = done});
  }
  while (__atomic_load_n(flags, __ATOMIC_ACQUIRE) < count) usleep(100);

  control.enable_debugging(getpid());
  const auto snapshot = control.queues(getpid());
  const kfd::QueueSnapshot* target = nullptr;
  for (const auto& queue : snapshot) {
    if (queue.ring_base_address == reinterpret_cast<u64>(queues[0]->base_address))
      target = &queue;
  }
  EXPECT(target != nullptr, "the queue is not in the snapshot");
  control.disable_debugging(getpid());

  // Each update unmaps every queue of the node and maps the run list again.
  std::vector<double> times;
  for (unsigned i = 0; i < 60; i++) {
    times.push_back(seconds_of([&] {
      control.update(*target, 0);
      control.update(*target, 100);
    }));
  }
  __atomic_store_n(flags + 1, 1u, __ATOMIC_RELEASE);
  wait_for(done);
  for (hsa_queue_t* queue : queues) HSA(hsa_queue_destroy(queue));
  return median(times) / 2 / count * 1e6;
}

int main() {
  kfd::Control control;
  control.enable_runtime();
  Machine machine;
  barrier_times(machine, 100);
  const auto barriers = barrier_times(machine, 3000);
  const double one = unmap_map_us_per_queue(machine, control, 1);
  const double many = unmap_map_us_per_queue(machine, control, 64);
  std::printf(
      "{\"barrier_us_p50\": %.2f, \"barrier_us_p99\": %.2f, "
      "\"unmap_map_us_per_queue_1\": %.2f, \"unmap_map_us_per_queue_64\": %.2f}\n",
      quantile(barriers, 0.5) * 1e6, quantile(barriers, 0.99) * 1e6, one, many);
  return 0;
}
