// With the parameter selective_unmap a stop names the processes that stop, and nobody else is
// unmapped. Whether real firmware leaves the others alone is not known: the emulated one can do so,
// or put back what was unmapped.
#include "firmware.h"
#include "peer.h"
#include "preempt.h"

namespace {

// The driver does it, within the scope; with the firmware as it is hoped to be, or not.
class Selective {
 public:
  explicit Selective(bool puts_back = false) {
    set_parameter("selective_unmap", 1);
    set_parameter("puts_back", puts_back);
  }
  ~Selective() {
    set_parameter("selective_unmap", 0);
    set_parameter("puts_back", 0);
  }
};

bool is_offered(unsigned gpu = 0) {
  kfd_ioctl_preempt_caps_args caps = {};
  caps.gpu_id = gpus()[gpu].id;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_GET_PREEMPT_CAPS, &caps), 0);
  return (caps.caps & KFD_PREEMPT_CAP_SELECTIVE) != 0;
}

struct Scene {
  Peer first, second, online;
  Lease lease;
  int queue = first.create_queue(0, 5), sdma = first.create_queue(0, 5, KFD_IOC_QUEUE_TYPE_SDMA);
  int other = second.create_queue(0, 5), important = online.create_queue(0, 15);
};

// How it was done: by one unmap for each of so many processes, or by one of everybody.
void check_selective(const FirmwareCount& count, unsigned processes) {
  CHECK_EQ(count.since().unmap_pasid, processes);
  CHECK_EQ(count.since().unmap, processes);
  CHECK_EQ(count.since().query, 1u);
  CHECK_EQ(count.since().run_list, 0u);
}
void check_everybody(const FirmwareCount& count) {
  CHECK_EQ(count.since().unmap_pasid, 0u);
  CHECK_EQ(count.since().unmap, 1u);
  CHECK_EQ(count.since().run_list, 1u);
}

}  // namespace

TEST(nobody_is_unmapped_selectively_unless_told_so) {
  needs_run_lists();
  Scene scene;
  CHECK(!is_offered());
  FirmwareCount count;
  CHECK_EQ(hold(self(), scene.lease, entry(scene.first.pid(), all_queues)), 0);
  check_everybody(count);
}

TEST(mes_needs_no_selective_unmap) {
  needs_mes();
  Selective selective;
  CHECK(!is_offered());
}

TEST(a_selective_stop_names_the_processes_that_stop) {
  needs_run_lists();
  Selective selective;
  Scene scene;
  CHECK(is_offered());
  FirmwareCount one;
  CHECK_EQ(hold(self(), scene.lease, entry(scene.first.pid(), all_queues)), 0);
  check_selective(one, 1);
  CHECK(!runs(scene.first.pid(), scene.queue));
  CHECK(!runs(scene.first.pid(), scene.sdma));
  CHECK(runs(scene.second.pid(), scene.other));
  CHECK(runs(scene.online.pid(), scene.important));
  FirmwareCount start;
  CHECK_EQ(release(self(), scene.lease, entry(scene.first.pid(), all_queues)), 0);
  check_everybody(start);
  CHECK(runs(scene.first.pid(), scene.queue));
  FirmwareCount two;
  std::vector<kfd_preempt_entry> both = {entry(scene.first.pid(), all_queues),
                                         entry(scene.second.pid(), scene.other)};
  CHECK_EQ(batch(AMDKFD_IOC_BATCH_UNMAP_QUEUES, scene.lease, both), 2);
  check_selective(two, 2);
  CHECK(!runs(scene.second.pid(), scene.other));
  CHECK(runs(scene.online.pid(), scene.important));
  usleep(300000);  // the driver looks whether it has lasted
  CHECK(is_offered());
  CHECK_EQ(two.since().unmap, 2u);
}

TEST(a_part_of_a_process_is_not_stopped_selectively) {
  needs_run_lists();
  Selective selective;
  Scene scene;
  FirmwareCount count;
  CHECK_EQ(hold(self(), scene.lease, entry(scene.first.pid(), scene.queue)), 0);
  check_everybody(count);
  CHECK(runs(scene.first.pid(), scene.sdma));
}

TEST(a_swap_is_not_selective) {
  needs_run_lists();
  Selective selective;
  Scene scene;
  CHECK_EQ(hold(self(), scene.lease, entry(scene.second.pid(), all_queues)), 0);
  kfd_preempt_entry stop = entry(scene.first.pid(), all_queues);
  kfd_preempt_entry start = entry(scene.second.pid(), all_queues);
  kfd_ioctl_swap_queues_args args = {};
  args.preempt_ptr = reinterpret_cast<uint64_t>(&stop);
  args.resume_ptr = reinterpret_cast<uint64_t>(&start);
  args.num_preempt = args.num_resume = 1;
  args.entry_size = sizeof stop;
  args.lease_fd = scene.lease;
  args.type = KFD_IOC_PREEMPT_SAVE;
  FirmwareCount count;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_SWAP_QUEUES, &args), 0);
  check_everybody(count);
  CHECK(!runs(scene.first.pid(), scene.queue));
  CHECK(runs(scene.second.pid(), scene.other));
}

// The run list still names what was stopped; what is freed must not be in it.
TEST(what_goes_after_a_selective_stop_is_taken_off_the_run_list_first) {
  needs_run_lists();
  Selective selective;
  Scene scene;
  CHECK_EQ(hold(self(), scene.lease, entry(scene.first.pid(), all_queues)), 0);
  FirmwareCount queue;
  CHECK_EQ(scene.first.destroy_queue(scene.queue), 0);
  check_everybody(queue);
  FirmwareCount second_queue;
  CHECK_EQ(scene.first.destroy_queue(scene.sdma), 0);
  CHECK_EQ(second_queue.since().unmap, 0u);
  CHECK_EQ(hold(self(), scene.lease, entry(scene.second.pid(), all_queues)), 0);
  FirmwareCount process;
  scene.second.kill_now();
  wait_until([] { return status().args.total_queues == 1; }, "the queue stays");
  check_everybody(process);
  CHECK(runs(scene.online.pid(), scene.important));
}

TEST(memory_management_gets_a_held_process_off_the_run_list) {
  needs_run_lists();
  Selective selective;
  Scene scene;
  CHECK_EQ(hold(self(), scene.lease, entry(scene.first.pid(), all_queues)), 0);
  FirmwareCount count;
  CHECK_EQ(evict(scene.first.pid()), 0);
  check_everybody(count);
  CHECK_EQ(restore(scene.first.pid()), 0);
  CHECK_EQ(count.since().unmap, 1u);
}

// The firmware would map it again in its turn.
TEST(an_oversubscribed_run_list_is_not_unmapped_selectively) {
  needs_run_lists();
  Selective selective;
  Scene scene;
  for (int i = 0; i < 8; i++) CHECK(scene.online.create_queue(0, 15) >= 0);
  CHECK((status().args.scheduler & KFD_SCHEDULER_OVERSUBSCRIBED) != 0);
  FirmwareCount count;
  CHECK_EQ(hold(self(), scene.lease, entry(scene.first.pid(), all_queues)), 0);
  check_everybody(count);
  CHECK(!runs(scene.first.pid(), scene.queue));
}

// Slots in use tell which queue is stuck, so that nobody may be in one who is not.
TEST(a_stuck_queue_is_not_looked_for_among_those_that_run) {
  needs_run_lists();
  Selective selective;
  Scene scene;
  CHECK_EQ(
      write_control("stuck0",
                    std::to_string(status().find(scene.first.pid(), scene.queue)->doorbell_off)),
      0);
  CHECK_EQ(hold(self(), scene.lease, entry(scene.first.pid(), all_queues)), -ENOTRECOVERABLE);
  CHECK(runs(scene.online.pid(), scene.important));
  CHECK_EQ(status().find(scene.online.pid(), scene.important)->flags,
           unsigned{KFD_QUEUE_STATUS_ACTIVE});
  CHECK_EQ(status().find(scene.first.pid(), scene.queue)->flags,
           unsigned{KFD_QUEUE_STATUS_HELD | KFD_QUEUE_STATUS_RESET});
}

// Last of these: on that GPU it is not tried again.
TEST(firmware_that_puts_back_what_was_unmapped_is_found_out) {
  needs_run_lists();
  Selective selective(true);
  Scene scene;
  CHECK_EQ(hold(self(), scene.lease, entry(scene.first.pid(), all_queues)), 0);
  wait_until(
      [&] {
        return mapped_queues(0).count({scene.first.pid(), scene.queue}) == 0;
      },
      "it stays mapped");
  CHECK(!is_offered());
  CHECK(is_offered(1));
  CHECK(runs(scene.online.pid(), scene.important));
  FirmwareCount count;
  CHECK_EQ(hold(self(), scene.lease, entry(scene.second.pid(), all_queues)), 0);
  check_everybody(count);
}
