// TEST: UPDATE_QUEUE works on a 6.1 kernel; packets written to a stopped queue run once it starts
// RUN: --kfd 1.11
// RUN: --kfd 1.17
#include <dirent.h>

#include <set>

#include "hsa_program.h"
#include "kfd_control.h"

static std::set<u32> queue_ids() {
  const std::string path = "/sys/class/kfd/kfd/proc/" + std::to_string(getpid()) + "/queues";
  DIR* directory = opendir(path.c_str());
  EXPECT(directory != nullptr, "cannot open %s", path.c_str());
  std::set<u32> ids;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] != '.')
      ids.insert(static_cast<u32>(std::atoi(entry->d_name)));
  }
  closedir(directory);
  return ids;
}

int main() {
  Machine machine;
  const Kernel count = machine.kernel("count_until"), store = machine.kernel("store_value");
  const std::set<u32> before = queue_ids();
  hsa_queue_t* queue = machine.queue();
  std::vector<u32> added;
  for (u32 id : queue_ids()) {
    if (before.count(id) == 0)
      added.push_back(id);
  }
  EXPECT(added.size() == 1, "%zu queues appeared", added.size());

  kfd::Control control;
  kfd::QueueSnapshot target{};
  target.queue_id = added[0];
  target.ring_base_address = reinterpret_cast<u64>(queue->base_address);
  target.ring_size = queue->size * 64;

  auto* cells = machine.shared<u32>(4);
  const hsa_signal_t done = machine.signal(2);
  dispatch(queue, count, machine.arguments(cells, cells + 1), {.done = done});
  for (int round = 0; round < 20; round++) {
    const u32 start = __atomic_load_n(cells + 1, __ATOMIC_ACQUIRE);
    while (__atomic_load_n(cells + 1, __ATOMIC_ACQUIRE) == start) usleep(100);
    control.update(target, 0);
    const u32 stopped = __atomic_load_n(cells + 1, __ATOMIC_ACQUIRE);
    usleep(10'000);
    EXPECT(__atomic_load_n(cells + 1, __ATOMIC_ACQUIRE) == stopped, "round %d: it counts on",
           round);
    if (round == 19) {
      dispatch(queue, store, machine.arguments(cells + 2, 77u), {.done = done});
      __atomic_store_n(cells, 1u, __ATOMIC_RELEASE);
      usleep(10'000);
      EXPECT(hsa_signal_load_scacquire(done) == 2 && cells[2] == 0, "a stopped queue ran a packet");
    }
    control.update(target, 100);
  }
  wait_for(done);
  EXPECT(cells[2] == 77, "the packet stored %u", cells[2]);
  HSA(hsa_queue_destroy(queue));
  return pass("stopped queue");
}
