// TEST: before KFD 1.13 the id of a new queue is found in sysfs, or nobody guesses it
// LABELS: mechanism
// PROFILES: mi210
// RUN: --kfd 1.11
// RUN: --kfd 1.11 --gpus 2
// USES: gp_mechanism
// LINK: -lhsa-runtime64
#include <cerrno>
#include <fstream>
#include <memory>

#include "../hsa/hsa_program.h"
#include "stop/session.h"

using namespace gp::stop;
using gp::Mechanism;

namespace {

u32 kfd_gpu_id(hsa_agent_t agent) {
  u32 node = 0;
  const auto attribute = static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_DRIVER_NODE_ID);
  HSA(hsa_agent_get_info(agent, attribute, &node));
  const std::string nodes = "/sys/class/kfd/kfd/topology/nodes/";
  std::ifstream file(nodes + std::to_string(node) + "/gpu_id");
  u32 id = 0;
  EXPECT(file >> id, "node %u has no gpu_id", node);
  return id;
}

struct Made {
  hsa_queue_t* queue = nullptr;
  u32 id = 0;
};

// The runtime and, around it, what an agent in this process does.
class Process {
 public:
  Process() : kfd_(open("/dev/kfd", O_RDWR | O_CLOEXEC)), gpu_id_(kfd_gpu_id(machine.gpus[0])) {
    gp::kfd::Channel channel;
    channel.fd = kfd_;
    EXPECT(open_session(session, channel, Mechanism::update_queue) == 0, "open_session");
    session.sysfs_pid = getpid();  // also in a pid namespace: the virtual sysfs is in the same
  }
  ~Process() {
    EXPECT(close_session(session) == 0, "close_session");
    close(kfd_);
  }

  Ring ring(const hsa_queue_t* queue) const {
    return {reinterpret_cast<u64>(queue->base_address), queue->size * 64, gpu_id_, 7};
  }
  void begin() { EXPECT(begin_create(session) == 0, "begin_create"); }
  int end(const Ring& ring, u32* id) { return end_create(session, ring, id); }

  Made create(u32 packets) {
    Made made;
    begin();
    made.queue = machine.queue(packets);
    const int error = end(ring(made.queue), &made.id);
    EXPECT(error == 0, "end_create: %d", error);
    return made;
  }
  void destroy(const Made& made) {
    EXPECT(before_destroy(session, ring(made.queue).base) == 0, "before_destroy");
    HSA(hsa_queue_destroy(made.queue));
  }

  Machine machine;
  const std::unique_ptr<Session> owned = std::make_unique<Session>();  // too large for the stack
  Session& session = *owned;

 private:
  const int kfd_;
  const u32 gpu_id_;
};

// Of two queues that look alike the one with the id found stops, and the other runs.
void expect_stops_this_one(Process& process, const Made& stopped, const Made& running) {
  u32 failed_id = 0;
  for (int round = 0; round < 20; round++) {
    const hsa_signal_t late = process.machine.signal(1), soon = process.machine.signal(1);
    EXPECT(stop_queues(process.session, &stopped.id, 1, 1, &failed_id) == 0, "stop %u", stopped.id);
    barrier_and(stopped.queue, {}, late);
    barrier_and(running.queue, {}, soon);
    wait_for(soon);
    EXPECT(hsa_signal_load_scacquire(late) == 1, "round %d: the stopped queue runs", round);
    EXPECT(start_queues(process.session, &stopped.id, 1) == 0, "start %u", stopped.id);
    wait_for(late);
    HSA(hsa_signal_destroy(late));
    HSA(hsa_signal_destroy(soon));
  }
}

void expect_refuses_to_guess(Process& process) {
  u32 id = 77;
  process.begin();
  hsa_queue_t* const one = process.machine.queue(256);
  Ring wrong = process.ring(one);
  wrong.bytes *= 2;
  EXPECT(process.end(wrong, &id) == -ENOTUNIQ, "a queue of another size was taken");
  wrong = process.ring(one);
  wrong.gpu_id++;
  EXPECT(process.end(wrong, &id) == -ENOTUNIQ, "a queue of another GPU was taken");
  hsa_queue_t* const twin = process.machine.queue(256);
  EXPECT(process.end(process.ring(one), &id) == -ENOTUNIQ, "one of two alike was taken");
  process.begin();
  EXPECT(process.end(process.ring(one), &id) == -ENOTUNIQ, "a queue from before was taken");
  EXPECT(id == 77, "an id was given in spite of the error: %u", id);
  HSA(hsa_queue_destroy(one));
  HSA(hsa_queue_destroy(twin));
}

void expect_tells_sizes_apart(Process& process) {
  Made small, large;
  process.begin();
  small.queue = process.machine.queue(128);
  large.queue = process.machine.queue(1024);
  EXPECT(process.end(process.ring(small.queue), &small.id) == 0, "the small one");
  EXPECT(process.end(process.ring(large.queue), &large.id) == 0, "the large one");
  EXPECT(small.id != large.id, "both are queue %u", small.id);
  expect_stops_this_one(process, small, large);
  expect_stops_this_one(process, large, small);
  process.destroy(small);
  process.destroy(large);
}

}  // namespace

int main() {
  Process process;
  const Made first = process.create(256), second = process.create(256);
  expect_stops_this_one(process, first, second);
  expect_stops_this_one(process, second, first);
  expect_refuses_to_guess(process);
  expect_tells_sizes_apart(process);

  // The driver gives ids again, and the new queue is not taken for the old one.
  process.destroy(first);
  const Made third = process.create(256);
  EXPECT(third.id == first.id, "queue %u, not %u again", third.id, first.id);
  expect_stops_this_one(process, third, second);
  process.destroy(third);
  process.destroy(second);
  return pass("new queues are known");
}
