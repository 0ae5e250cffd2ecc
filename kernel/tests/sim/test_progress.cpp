// A held queue visibly stops: the packet processor of the emulated firmware takes packets off
// mapped queues only. That time passes is shown by another queue, which gets through its work.
#include <atomic>

#include "preempt.h"

namespace {

constexpr uint64_t slots = 64;          // client.cpp makes rings of 4096 bytes
constexpr uint16_t barrier_packet = 3;  // the header of a barrier-AND without dependencies
constexpr uint16_t free_slot = 1;

// An AQL queue of this process that counts its packets.
class Worker {
 public:
  Worker() : id_(self().create_queue(0, 7)), shared_(self().shared(id_)) {
    *shared_.read_index = *shared_.write_index = 0;  // its buffers may have been used before
  }
  ~Worker() { self().destroy_queue(id_); }
  Worker(const Worker&) = delete;

  uint32_t id() const { return id_; }
  uint64_t done() const { return std::atomic_ref(*shared_.read_index).load(); }

  void submit(uint64_t packets) {
    uint64_t next = *shared_.write_index;
    for (; packets > 0; packets--, next++) {
      uint8_t* slot = shared_.ring + next % slots * 64;
      memset(slot, 0, 64);
      std::atomic_ref(*reinterpret_cast<uint16_t*>(slot)).store(barrier_packet);
    }
    std::atomic_ref(*shared_.write_index).store(next);
  }

  void finish() {
    wait_until([this] { return done() == *shared_.write_index; }, "packets are left");
  }

  uint16_t header(uint64_t packet) const {
    return *reinterpret_cast<uint16_t*>(shared_.ring + packet % slots * 64);
  }

 private:
  uint32_t id_;
  Client::Shared shared_;
};

}  // namespace

TEST(a_mapped_queue_gets_through_its_packets) {
  Worker worker;
  worker.submit(10);
  worker.finish();
  CHECK_EQ(worker.done(), 10u);
  CHECK_EQ(worker.header(9), free_slot);
}

TEST(a_held_queue_takes_no_packet) {
  Worker held, other;
  Lease lease;
  CHECK_EQ(hold(self(), lease, entry(0, held.id())), 0);
  held.submit(10);
  other.submit(slots);
  other.finish();
  CHECK_EQ(held.done(), 0u);
  CHECK_EQ(release(self(), lease, entry(0, held.id())), 0);
  held.finish();
}

TEST(a_queue_that_is_held_in_the_middle_goes_on_where_it_stopped) {
  Worker held, other;
  Lease lease;
  held.submit(slots);
  wait_until([&] { return held.done() > 0; }, "nothing begins");
  CHECK_EQ(hold(self(), lease, entry(0, held.id())), 0);
  uint64_t stopped_at = held.done();
  other.submit(slots);
  other.finish();
  CHECK_EQ(held.done(), stopped_at);
  lease.close_now();
  held.finish();
  CHECK_EQ(held.done(), slots);
}

TEST(a_swap_changes_who_makes_progress) {
  Worker first, second;
  Lease lease;
  CHECK_EQ(hold(self(), lease, entry(0, first.id())), 0);
  first.submit(10);
  second.submit(10);
  second.finish();
  CHECK_EQ(first.done(), 0u);
  kfd_preempt_entry stop = entry(0, second.id()), start = entry(0, first.id());
  kfd_ioctl_swap_queues_args args = {};
  args.preempt_ptr = reinterpret_cast<uint64_t>(&stop);
  args.resume_ptr = reinterpret_cast<uint64_t>(&start);
  args.num_preempt = args.num_resume = 1;
  args.entry_size = sizeof(kfd_preempt_entry);
  args.lease_fd = lease;
  args.type = KFD_IOC_PREEMPT_SAVE;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_SWAP_QUEUES, &args), 0);
  second.submit(10);
  first.submit(slots - 10);
  first.finish();
  CHECK_EQ(second.done(), 10u);
}
