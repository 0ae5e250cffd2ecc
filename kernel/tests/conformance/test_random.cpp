// Many random operations, each followed by a comparison of driver, scheduler and a model
// that fits on one screen: a queue runs iff nobody holds it or its process on its GPU, no debugger
// has suspended it, the process is not evicted, its percentage is not 0, and it has a slot. Slots
// can be scarce for compute queues of processes that the lease of a reservation has made low; which
// of them run is not told, but how many.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <set>

#include "peer.h"
#include "preempt.h"

namespace {

constexpr int num_processes = 3, num_leases = 3, max_queues = 5;
constexpr unsigned num_gpus = 2, num_slots = 8;

struct ModelQueue {
  unsigned gpu;
  bool compute = true;
  bool on = true;  // percentage
  bool suspended = false;
  std::set<int> holders;
};

struct ModelProcess {
  std::unique_ptr<Peer> peer = std::make_unique<Peer>();
  int evictions = 0;
  std::array<std::set<int>, num_gpus> holders;
  std::set<int> made_low;  // the leases that have
  std::map<int, ModelQueue> queues;
  bool runs(const ModelQueue& q) const {
    return q.on && evictions == 0 && !q.suspended && q.holders.empty() && holders[q.gpu].empty();
  }
};

struct ModelReservation {  // of a GPU
  int lease = -1;
  unsigned slots = 0;
};

std::string text(const std::set<QueueName>& queues) {
  std::string line;
  for (const QueueName& q : queues)
    line += " " + std::to_string(q.pid) + ":" + std::to_string(q.queue_id);
  return line;
}

int number(const char* variable, int otherwise) {
  const char* value = getenv(variable);
  return value != nullptr ? atoi(value) : otherwise;
}

class World {
 public:
  explicit World(unsigned seed) : random_(seed) {
    for (unsigned i = 0; i < num_processes; i++) make_process(i);
    for (auto& l : leases_) l = std::make_unique<Lease>();
  }
  ~World() {
    for (auto& p : processes_)
      for (; p->evictions > 0; p->evictions--) restore(p->peer->pid());
  }
  void step();
  void compare();
  const std::string& last() const { return last_; }

 private:
  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
  int pick_queue(ModelProcess& p) {
    if (p.queues.empty())
      return -1;
    return std::next(p.queues.begin(), pick(static_cast<unsigned>(p.queues.size())))->first;
  }
  void create(ModelProcess& p);
  void destroy(ModelProcess& p, int queue);
  int call(ModelProcess& p, int lease, uint32_t queue, bool stop);
  void hold_or_release(ModelProcess& p, int lease, int queue, bool stop);
  void hold_or_release_all(ModelProcess& p, int lease, bool stop);
  void make_process(unsigned index);
  void end_lease(int lease);
  void suspend_or_resume(ModelProcess& p, int queue);
  void make_low_or_normal(ModelProcess& p, int lease);
  void reserve(int lease);
  void compare_gpu(unsigned gpu);
  void replace_process(unsigned index);

  std::mt19937 random_;
  std::string last_;
  std::array<std::unique_ptr<ModelProcess>, num_processes> processes_;
  std::array<std::unique_ptr<Lease>, num_leases> leases_;
  std::array<ModelReservation, num_gpus> reservations_;
};

// The first of them is debugged, by itself.
void World::make_process(unsigned index) {
  processes_[index] = std::make_unique<ModelProcess>();
  if (index == 0)
    CHECK_EQ(processes_[index]->peer->enable_debugging(), 0);
}

void World::create(ModelProcess& p) {
  if (p.queues.size() >= max_queues)
    return;
  unsigned gpu = pick(num_gpus);
  const bool compute = pick(4) != 0;
  int queue = p.peer->create_queue(gpu, pick(16), compute ? 2 : 1);
  CHECK(queue >= 0);
  CHECK_EQ(p.queues.count(queue), size_t{0});
  p.queues[queue].gpu = gpu;
  p.queues[queue].compute = compute;
}

void World::destroy(ModelProcess& p, int queue) {
  if (p.queues.at(queue).suspended)
    return;  // it would wait for the debugger
  CHECK_EQ(p.peer->destroy_queue(queue), 0);
  p.queues.erase(queue);
}

// One of the calls that do it, and one of the ways to name the process.
int World::call(ModelProcess& p, int lease, uint32_t queue, bool stop) {
  const int copy = pick(3) == 0 ? p.peer->copy_of_kfd_fd() : -1;
  std::vector<kfd_preempt_entry> list = {copy < 0 ? entry(p.peer->pid(), queue)
                                                  : entry_by_fd(copy, queue)};
  const unsigned way = pick(3);
  int r = 0;
  if (way == 0) {
    r = stop ? hold(self(), *leases_[lease], list[0]) : release(self(), *leases_[lease], list[0]);
  } else if (way == 1) {
    CHECK_EQ(
        batch(stop ? AMDKFD_IOC_BATCH_UNMAP_QUEUES : AMDKFD_IOC_FAST_REMAP, *leases_[lease], list),
        1);
    r = list[0].status;
  } else {
    kfd_ioctl_swap_queues_args args = {};
    (stop ? args.preempt_ptr : args.resume_ptr) = reinterpret_cast<uint64_t>(list.data());
    (stop ? args.num_preempt : args.num_resume) = 1;
    args.entry_size = sizeof list[0];
    args.lease_fd = *leases_[lease];
    args.type = KFD_IOC_PREEMPT_SAVE;
    CHECK_EQ(self().ioctl(AMDKFD_IOC_SWAP_QUEUES, &args), 0);
    r = list[0].status;
  }
  if (copy >= 0)
    close(copy);
  return r;
}

void World::hold_or_release(ModelProcess& p, int lease, int queue, bool stop) {
  std::set<int>& holders = p.queues.at(queue).holders;
  bool changes = stop ? holders.count(lease) == 0 : holders.count(lease) != 0;
  CHECK_EQ(call(p, lease, queue, stop), changes ? 0 : 1);
  if (stop)
    holders.insert(lease);
  else
    holders.erase(lease);
}

void World::hold_or_release_all(ModelProcess& p, int lease, bool stop) {
  const int r = call(p, lease, all_queues, stop);
  CHECK(r == 0 || r == 1);
  for (auto& holders : p.holders)
    if (stop)
      holders.insert(lease);
    else
      holders.erase(lease);
  if (!stop)
    for (auto& [id, q] : p.queues) q.holders.erase(lease);
}

void World::end_lease(int lease) {
  leases_[lease] = std::make_unique<Lease>();
  for (auto& p : processes_) {
    for (auto& holders : p->holders) holders.erase(lease);
    for (auto& [id, q] : p->queues) q.holders.erase(lease);
    p->made_low.erase(lease);
  }
  for (ModelReservation& r : reservations_)
    if (r.lease == lease)
      r = {};
}

void World::suspend_or_resume(ModelProcess& p, int queue) {
  ModelQueue& q = p.queues.at(queue);
  if (&p != processes_[0].get())
    return;
  CHECK_EQ(q.suspended ? p.peer->resume(queue) : p.peer->suspend(queue), 1);
  q.suspended = !q.suspended;
}

void World::make_low_or_normal(ModelProcess& p, int lease) {
  const bool low = p.made_low.count(lease) == 0;
  const kfd_preempt_entry all = entry(p.peer->pid(), all_queues);
  CHECK_EQ(low ? make_low(*leases_[lease], all) : make_normal(*leases_[lease], all), 0);
  if (low)
    p.made_low.insert(lease);
  else
    p.made_low.erase(lease);
}

void World::reserve(int lease) {
  const unsigned gpu = pick(num_gpus);
  kfd_ioctl_slot_reservation_args args = {};
  args.lease_fd = *leases_[lease];
  args.gpu_id = gpus()[gpu].id;
  args.reserved_slots = pick(num_slots);
  args.rotate_ms = 60000;
  ModelReservation& r = reservations_[gpu];
  const bool others = r.lease >= 0 && r.lease != lease;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_SET_SLOT_RESERVATION, &args), others ? -EBUSY : 0);
  if (!others)
    r = args.reserved_slots == 0 ? ModelReservation()
                                 : ModelReservation{lease, args.reserved_slots};
}

void World::replace_process(unsigned index) {
  if (processes_[index]->evictions > 0)
    return;
  processes_[index].reset();
  // The driver destroys the queues of the dead in the background; until then it counts them, but
  // no longer lists them: they have no pid any more.
  for (unsigned gpu = 0; gpu < num_gpus; gpu++) {
    uint32_t left = 0;
    for (auto& p : processes_)
      if (p != nullptr)
        for (auto& [id, q] : p->queues) left += q.gpu == gpu;
    wait_until([&] { return status(gpu).args.total_queues == left; }, "queues of the dead stay");
  }
  make_process(index);
}

void World::step() {
  for (auto& l : leases_) CHECK_EQ(l->renew(), 0);
  unsigned index = pick(num_processes);
  ModelProcess& p = *processes_[index];
  int lease = static_cast<int>(pick(num_leases)), queue = pick_queue(p);
  unsigned op = pick(100);
  last_ = "operation " + std::to_string(op) + " on process " + std::to_string(index) + " queue " +
          std::to_string(queue) + " lease " + std::to_string(lease);
  if (op < 15)
    return create(p);
  if (op < 25)
    return hold_or_release_all(p, lease, true);
  if (op < 35)
    return hold_or_release_all(p, lease, false);
  if (op < 38)
    return end_lease(lease);
  if (op < 43) {
    CHECK_EQ(evict(p.peer->pid()), 0);
    p.evictions++;
    return;
  }
  if (op < 50) {
    if (p.evictions == 0)
      return;
    CHECK_EQ(restore(p.peer->pid()), 0);
    p.evictions--;
    return;
  }
  if (op < 51)
    return replace_process(index);
  if (op < 54 && !has_mes())
    return op < 52 ? reserve(lease) : make_low_or_normal(p, lease);
  if (queue < 0)
    return;
  if (op < 56)
    return suspend_or_resume(p, queue);
  if (op < 60)
    return destroy(p, queue);
  if (op < 64) {
    ModelQueue& q = p.queues.at(queue);
    q.on = pick(2) == 0;
    CHECK_EQ(p.peer->update_queue(queue, q.on ? 100 : 0, pick(16)), 0);
    return;
  }
  hold_or_release(p, lease, queue, op < 82);
}

void World::compare() {
  for (unsigned gpu = 0; gpu < num_gpus; gpu++) compare_gpu(gpu);
}

void World::compare_gpu(unsigned gpu) {
  const ModelReservation& reservation = reservations_[gpu];
  const Status s = status(gpu);
  std::set<QueueName> should_run;
  unsigned low = 0, low_that_run = 0, waiting = 0;
  for (auto& p : processes_) {
    for (auto& [id, q] : p->queues) {
      if (q.gpu != gpu)
        continue;
      const kfd_queue_status* listed = s.find(p->peer->pid(), id);
      CHECK(listed != nullptr);
      const bool active = (listed->flags & KFD_QUEUE_STATUS_ACTIVE) != 0;
      const bool is_low = q.compute && p->made_low.count(reservation.lease) != 0;
      CHECK_EQ((listed->flags & KFD_QUEUE_STATUS_LOW) != 0, is_low);
      CHECK_EQ(listed->num_holds, q.holders.size() + p->holders[gpu].size());
      const bool waits = (listed->flags & KFD_QUEUE_STATUS_WAITING) != 0;
      waiting += waits;
      if (is_low && p->runs(q)) {
        low++;
        low_that_run += active;
        CHECK_EQ(waits, !active);
      } else {
        CHECK_EQ(active, p->runs(q));
      }
      if (active)
        should_run.insert({p->peer->pid(), id});
    }
  }
  CHECK_EQ(low_that_run, std::min(low, num_slots - reservation.slots));
  CHECK_EQ(s.args.waiting_queues, waiting);
  if (std::set<QueueName> mapped = mapped_queues(gpu); mapped != should_run)
    throw Failed("GPU " + std::to_string(gpu) + " runs" + text(mapped) + ", not" +
                 text(should_run));
  CHECK_EQ(s.args.active_queues, should_run.size());
  CHECK_EQ(complaint(gpu), std::string());
}

}  // namespace

TEST(random_operations_agree_with_the_model) {
  int operations = number("RANDOM_OPERATIONS", 2000);
  World world(static_cast<unsigned>(number("RANDOM_SEED", 1)));
  for (int i = 0; i < operations; i++) {
    try {
      world.step();
      world.compare();
    } catch (const std::exception& e) {
      throw Failed("step " + std::to_string(i) + ", " + world.last() + ": " + e.what());
    }
  }
}
