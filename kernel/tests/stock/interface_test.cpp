// The interface as a whole: version, numbers, sizes, who may use a file descriptor. The answers are
// those of amdkfd in Linux 6.12.95 on a machine without a GPU.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "abi/early.h"
#include "abi/kfd_preempt.h"
#include "kfd/calls.h"
#include "support.h"

namespace gp::stock {
namespace {

TEST(Interface, IsOneDotSeventeen) {
  const Kfd kfd;
  kfd::Version version;
  EXPECT_EQ(kfd::get_version(kfd.channel(), version), 0);
  EXPECT_EQ(version.major, 1u);
  EXPECT_EQ(version.minor, 17u);
}

// kfd_chardev.c, kfd_ioctl(): what lies outside the table is ENOTTY, not EINVAL.
TEST(Interface, NumbersOutsideTheTableAreUnknown) {
  const Kfd kfd;
  u64 args = 0;
  EXPECT_EQ(kfd.call(0x00, args), -ENOTTY);
  EXPECT_EQ(kfd.call(abi::kfd_dbg_trap + 1, args), -ENOTTY);
  EXPECT_EQ(kfd.call(abi::kfd_ipc_import_handle, args), -ENOTTY);
  EXPECT_EQ(kfd.call(0xff, args), -ENOTTY);
}

TEST(Interface, TheEarlyPreemptionCallsAreUnknown) {
  const Kfd kfd;
  EXPECT_EQ(kfd::early_preempt_queue(kfd.channel(), 0, 10), -ENOTTY);
  EXPECT_EQ(kfd::early_resume_queue(kfd.channel(), 0), -ENOTTY);
}

TEST(Stock, CallsOfTheSeriesAreUnknown) {
  const Kfd kfd;
  abi::PreemptCapsArgs caps{};
  EXPECT_EQ(kfd.call(abi::kfd_get_preempt_caps, caps), -ENOTTY);
  EXPECT_EQ(caps.version, 0u);
  u64 args[16] = {};
  for (u32 number = abi::kfd_preempt_lease; number <= abi::kfd_set_slot_reservation; number++) {
    EXPECT_EQ(kfd.call(number, args), -ENOTTY) << number;
  }
}

TEST(Patched, SaysWhichCallsThereAre) {
  const Kfd kfd;
  abi::PreemptCapsArgs caps{};
  EXPECT_EQ(kfd.call(abi::kfd_get_preempt_caps, caps), 0);
  EXPECT_EQ(caps.version, abi::kPreemptVersion);
  EXPECT_EQ(caps.caps, abi::kPreemptCapQueues | abi::kPreemptCapStatus |
                           abi::kPreemptCapReservation | abi::kPreemptCapDemote);
  EXPECT_EQ(caps.max_entries, abi::kPreemptMaxEntries);
}

TEST(Patched, GivesALease) {
  in_own_process([] {
    const Kfd kfd;
    abi::PreemptLeaseArgs lease{};
    lease.op = abi::preempt_lease_create;
    lease.timeout_ms = 1000;
    ASSERT_EQ(kfd.call(abi::kfd_preempt_lease, lease), 0);
    lease.op = abi::preempt_lease_renew;
    EXPECT_EQ(kfd.call(abi::kfd_preempt_lease, lease), 0);
    EXPECT_EQ(close(static_cast<int>(lease.lease_fd)), 0);
    EXPECT_EQ(kfd.call(abi::kfd_preempt_lease, lease), -EBADF);
  });
}

// The table is indexed by _IOC_NR alone, and missing bytes count as zero.
TEST(Interface, TypeAndSizeOfARequestAreNotChecked) {
  const Kfd kfd;
  u8 room[64] = {};
  EXPECT_EQ(kfd.send('Q', abi::kfd_get_version, sizeof(abi::GetVersionArgs), room), 0);
  EXPECT_EQ(kfd.send('K', abi::kfd_get_version, 4, room), 0);
  EXPECT_EQ(kfd.send('K', abi::kfd_get_version, sizeof(room), room), 0);
}

TEST(Interface, AChildCannotUseItsParentsFile) {
  const Kfd kfd;
  in_own_process([&kfd] {
    kfd::Version version;
    EXPECT_EQ(kfd::get_version(kfd.channel(), version), -EBADF);
  });
}

TEST(Interface, KnowsNoGpu) {
  const Kfd kfd;
  abi::GetProcessAperturesNewArgs args{};
  EXPECT_EQ(kfd.call(abi::kfd_get_process_apertures_new, args), 0);
  EXPECT_EQ(args.num_of_nodes, 0u);
  abi::DeviceApertures room[8] = {};
  args.kfd_process_device_apertures_ptr = reinterpret_cast<u64>(room);
  args.num_of_nodes = 1;
  EXPECT_EQ(kfd.call(abi::kfd_get_process_apertures_new, args), 0);
  EXPECT_EQ(args.num_of_nodes, 0u);
  args.num_of_nodes = 8;  // more than there are devices in the topology
  EXPECT_EQ(kfd.call(abi::kfd_get_process_apertures_new, args), -EINVAL);
}

TEST(Interface, ClocksOfNoGpuAreThoseOfTheCpu) {
  const Kfd kfd;
  abi::GetClockCountersArgs args{};
  EXPECT_EQ(kfd.call(abi::kfd_get_clock_counters, args), 0);
  EXPECT_EQ(args.gpu_clock_counter, 0u);
  EXPECT_NE(args.cpu_clock_counter, 0u);
  EXPECT_NE(args.system_clock_counter, 0u);
  EXPECT_EQ(args.system_clock_freq, 1'000'000'000u);
}

TEST(Interface, EventsWorkWithoutAGpu) {
  in_own_process([] {
    const Kfd kfd;
    abi::CreateEventArgs event{};
    event.event_type = abi::event_signal;
    event.auto_reset = 1;
    ASSERT_EQ(kfd.call(abi::kfd_create_event, event), 0);
    EXPECT_EQ(kfd::wait_event(kfd.channel(), event.event_id, 0), 0);
    abi::EventIdArgs id{event.event_id, 0};
    EXPECT_EQ(kfd.call(abi::kfd_set_event, id), 0);
    EXPECT_EQ(kfd::wait_event(kfd.channel(), event.event_id, 1000), 1);
    EXPECT_EQ(kfd::wait_event(kfd.channel(), event.event_id, 0), 0);
    EXPECT_EQ(kfd.call(abi::kfd_destroy_event, id), 0);
  });
}

}  // namespace
}  // namespace gp::stock
