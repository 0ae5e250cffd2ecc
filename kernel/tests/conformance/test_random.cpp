// Many random operations, each followed by a comparison of driver, scheduler and a model
// that fits on one screen: a queue runs iff nobody holds it or its process on its GPU, the process
// is not evicted, and its percentage is not 0.
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
constexpr unsigned num_gpus = 2;

struct ModelQueue {
  unsigned gpu;
  bool on = true;  // percentage
  std::set<int> holders;
};

struct ModelProcess {
  std::unique_ptr<Peer> peer = std::make_unique<Peer>();
  int evictions = 0;
  std::array<std::set<int>, num_gpus> holders;
  std::map<int, ModelQueue> queues;
  bool runs(const ModelQueue& q) const {
    return q.on && evictions == 0 && q.holders.empty() && holders[q.gpu].empty();
  }
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
    for (auto& p : processes_) p = std::make_unique<ModelProcess>();
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
  void end_lease(int lease);
  void replace_process(unsigned index);

  std::mt19937 random_;
  std::string last_;
  std::array<std::unique_ptr<ModelProcess>, num_processes> processes_;
  std::array<std::unique_ptr<Lease>, num_leases> leases_;
};

void World::create(ModelProcess& p) {
  if (p.queues.size() >= max_queues)
    return;
  unsigned gpu = pick(num_gpus);
  int queue = p.peer->create_queue(gpu, pick(16), pick(4) == 0 ? 1 : 2);
  CHECK(queue >= 0);
  CHECK_EQ(p.queues.count(queue), size_t{0});
  p.queues[queue].gpu = gpu;
}

void World::destroy(ModelProcess& p, int queue) {
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
  }
}

void World::replace_process(unsigned index) {
  if (processes_[index]->evictions > 0)
    return;
  processes_[index] = std::make_unique<ModelProcess>();
  // The driver destroys the queues of the dead in the background; until then it counts them, but
  // no longer lists them: they have no pid any more.
  for (unsigned gpu = 0; gpu < num_gpus; gpu++) {
    uint32_t left = 0;
    for (auto& p : processes_)
      for (auto& [id, q] : p->queues) left += q.gpu == gpu;
    wait_until([&] { return status(gpu).args.total_queues == left; }, "queues of the dead stay");
  }
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
  if (queue < 0)
    return;
  if (op < 58)
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
  for (unsigned gpu = 0; gpu < num_gpus; gpu++) {
    Status s = status(gpu);
    std::set<QueueName> should_run;
    for (auto& p : processes_) {
      for (auto& [id, q] : p->queues) {
        if (q.gpu != gpu)
          continue;
        const kfd_queue_status* listed = s.find(p->peer->pid(), id);
        CHECK(listed != nullptr);
        CHECK_EQ((listed->flags & KFD_QUEUE_STATUS_ACTIVE) != 0, p->runs(q));
        CHECK_EQ(listed->num_holds, q.holders.size() + p->holders[gpu].size());
        if (p->runs(q))
          should_run.insert({p->peer->pid(), id});
      }
    }
    if (std::set<QueueName> mapped = mapped_queues(gpu); mapped != should_run)
      throw Failed("GPU " + std::to_string(gpu) + " runs" + text(mapped) + ", not" +
                   text(should_run));
    CHECK_EQ(s.args.active_queues, should_run.size());
    CHECK_EQ(complaint(gpu), std::string());
  }
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
