// What only the real driver on emulated firmware can show: packets of every kind, sleep, and what
// an open file keeps of a dead process.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fstream>
#include <memory>
#include <thread>

#include "firmware.h"
#include "peer.h"
#include "preempt.h"

TEST(status_tells_how_many_processes_fit) { CHECK_EQ(status().args.num_vmids, 8u); }

TEST(a_call_sends_an_unmap_a_query_and_a_run_list_and_nothing_else) {
  needs_run_lists();
  Peer peer, online;
  Lease lease;
  int queue = peer.create_queue(0, 5);
  online.create_queue(0, 15);  // a run list is needed for it
  FirmwareCount count;
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK_EQ(count.since().unmap, 1u);
  CHECK_EQ(count.since().query, 1u);
  CHECK_EQ(count.since().run_list, 1u);
  CHECK_EQ(count.since().write, 0u);
  CHECK_EQ(count.since().unknown, 0u);
  // Static queues stay, and nobody is picked out.
  CHECK_EQ(count.since().unmap_all, 0u);
  CHECK_EQ(count.since().unmap_pasid, 0u);
}

TEST(a_grace_period_is_set_and_taken_back) {
  needs_run_lists();
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 7);
  FirmwareCount count;
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue), 0, KFD_PREEMPT_MAX_GRACE_PERIOD), 0);
  CHECK_EQ(count.since().write, 2u);
  CHECK_EQ(firmware_state(0).grace_before, 255u);
  CHECK_EQ(firmware_state(0).grace, 0x1234u);  // what the register had before
}

TEST(a_process_without_active_queues_is_not_in_the_run_list) {
  needs_run_lists();
  Peer held, idle, online;
  Lease lease;
  held.create_queue(0, 5);
  int off = idle.create_queue(0, 5);
  online.create_queue(0, 15);
  CHECK_EQ(firmware_state(0).processes, 3u);
  CHECK_EQ(hold(self(), lease, entry(held.pid(), all_queues)), 0);
  CHECK_EQ(idle.update_queue(off, 0, 5), 0);
  CHECK_EQ(firmware_state(0).processes, 1u);
  lease.close_now();
  CHECK_EQ(firmware_state(0).processes, 2u);
}

TEST(held_processes_do_not_oversubscribe_a_gpu) {
  needs_run_lists();
  std::vector<std::unique_ptr<Peer>> peers;
  Lease lease;
  for (int i = 0; i < 9; i++) {
    peers.push_back(std::make_unique<Peer>());
    CHECK(peers.back()->create_queue(0, 5) >= 0);
    if (i == 0)
      continue;
    CHECK_EQ((status().args.scheduler & KFD_SCHEDULER_OVERSUBSCRIBED) != 0, i == 8);
  }
  CHECK_EQ(hold(self(), lease, entry(peers[3]->pid(), all_queues)), 0);
  CHECK_EQ(status().args.scheduler & KFD_SCHEDULER_OVERSUBSCRIBED, 0u);
}

// Somebody else has the lock of resets, as a test of amdgpu does: nothing can be told to the HWS.
TEST(what_could_not_be_started_is_started_later) {
  needs_run_lists();
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 5);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK_EQ(write_control("no_reset0", "1"), 0);
  const int released = release(self(), lease, entry(peer.pid(), queue));
  CHECK_EQ(write_control("no_reset0", "0"), 0);
  CHECK_EQ(released, -EIO);
  auto is_mapped = [&] { return mapped_queues(0).count({peer.pid(), queue}) != 0; };
  wait_until(is_mapped, "nobody tries again");
}

// The only process that is named is still being made, and is not: EINTR, as after a signal.
TEST(a_process_that_is_not_made_after_all_is_not_held) {
  Lease lease;
  set_parameter("fail_open", 1);
  const pid_t fails = fork();
  if (fails == 0)
    _exit(open("/dev/kfd", O_RDWR) < 0 && errno == EINTR ? 0 : 1);
  wait_until([] { return parameter("fail_open") == 2; }, "it does not open the device");
  int result = 1;
  std::thread caller([&] { result = hold(self(), lease, entry(fails, all_queues)); });
  usleep(20000);  // for it to find what it should not
  set_parameter("fail_open", 0);
  caller.join();
  CHECK_EQ(result, -ESRCH);
  int status = -1;
  CHECK_EQ(waitpid(fails, &status, 0), fails);
  CHECK_EQ(status, 0);
}

// A container that has been given the first GPU only. Its root knows nothing of the second.
TEST(a_gpu_that_the_device_cgroup_forbids_is_not_there) {
  const std::string cgroups = "/tmp/devices", group = cgroups + "/one_gpu";
  mkdir(cgroups.c_str(), 0755);
  CHECK(mount("none", cgroups.c_str(), "cgroup", 0, "devices") == 0 || errno == EBUSY);
  CHECK(mkdir(group.c_str(), 0755) == 0 || errno == EEXIST);
  std::ofstream(group + "/devices.deny") << "c 226:129 rwm";
  const pid_t container = fork();
  if (container == 0) {
    std::ofstream(group + "/cgroup.procs") << getpid() << std::flush;
    const int kfd = open("/dev/kfd", O_RDWR);
    auto answer = [&](unsigned long request, auto args, unsigned gpu) {
      args.gpu_id = gpus()[gpu].id;
      return ioctl(kfd, request, &args) == 0 ? 0 : errno;
    };
    kfd_ioctl_slot_reservation_args slots = {};
    slots.lease_fd = 999;  // is looked at after the GPU
    const bool right =
        kfd >= 0 && answer(AMDKFD_IOC_GET_QUEUE_STATUS, kfd_ioctl_queue_status_args{}, 0) == 0 &&
        answer(AMDKFD_IOC_GET_QUEUE_STATUS, kfd_ioctl_queue_status_args{}, 1) == EINVAL &&
        answer(AMDKFD_IOC_GET_PREEMPT_CAPS, kfd_ioctl_preempt_caps_args{}, 1) == EINVAL &&
        answer(AMDKFD_IOC_SET_SLOT_RESERVATION, slots, 0) == EBADF &&
        answer(AMDKFD_IOC_SET_SLOT_RESERVATION, slots, 1) == EINVAL;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  CHECK_EQ(waitpid(container, &status, 0), container);
  CHECK_EQ(status, 0);
}

TEST(a_copy_of_the_kfd_fd_keeps_what_is_left_of_a_dead_process) {
  Peer target;
  Lease lease;
  int queue = target.create_queue(0, 7);
  int copy = target.copy_of_kfd_fd();
  CHECK(copy >= 0);
  kfd_preempt_entry e = entry_by_fd(copy, queue);
  CHECK_EQ(hold(self(), lease, e), 0);
  target.kill_now();
  CHECK_EQ(release(self(), lease, e), 0);
  close(copy);
}

TEST(holds_survive_sleep_and_change_during_it) {
  Peer peer;
  Lease lease, brief;
  int stays = peer.create_queue(0, 5), goes = peer.create_queue(0, 5);
  int never = peer.create_queue(1, 5), late = peer.create_queue(1, 5);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), stays)), 0);
  CHECK_EQ(hold(self(), brief, entry(peer.pid(), goes)), 0);
  CHECK_EQ(power(false), 0);
  CHECK(!runs(peer.pid(), never, 1));
  brief.close_now();
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), late)), 0);
  CHECK(!runs(peer.pid(), goes));
  CHECK_EQ(power(true), 0);
  CHECK(!runs(peer.pid(), stays));
  CHECK(runs(peer.pid(), goes));
  CHECK(runs(peer.pid(), never, 1));
  CHECK(!runs(peer.pid(), late, 1));
  lease.close_now();
  CHECK(runs(peer.pid(), stays));
  CHECK(runs(peer.pid(), late, 1));
}
