// Where the rings of a process are, from debugfs mqds.
#include "discover/rings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "discover/fixture_support.h"
#include "discover/machine_support.h"

namespace gp::discover {
namespace {

Paths copied_paths() {
  Paths paths;
  paths.debugfs = "/copy/debugfs";
  return paths;
}

// Its queues are AQL queues of ROCr: both indices lie in one amd_queue_t.
TEST(Rings, HaveTheAddressesOfTheirIndices) {
  const Recording recording = gfx942_recording();
  ReplayingOs os(recording);
  const auto rings = find_rings(os, copied_paths(), 7301);
  ASSERT_TRUE(rings) << rings.error().message();
  ASSERT_FALSE(rings->empty());
  const Ring& newest = rings->front();
  EXPECT_EQ(newest.gpu_id, 0x6d31u);
  EXPECT_EQ(newest.base, 0x7e1122400000u);
  EXPECT_EQ(newest.read_index_address, 0x7e11223ff080u);
  EXPECT_EQ(newest.write_index_address, 0x7e11223ff038u);
  for (const Ring& ring : *rings) {
    EXPECT_EQ(ring.read_index_address - ring.write_index_address, 0x80u - 0x38u);
  }
}

TEST(Rings, AreThoseOfOneProcessAndOneForEachQueueHoweverManyXccs) {
  const Recording recording = gfx942_recording();
  const Snapshot snapshot = gfx942_snapshot(recording, {.debugfs = true});
  ReplayingOs os(recording);
  for (const Process& process : snapshot.processes) {
    const auto rings = find_rings(os, copied_paths(), process.key.pid);
    ASSERT_TRUE(rings) << rings.error().message();
    const auto compute = std::ranges::count(process.queues, QueueType::compute, &Queue::type);
    EXPECT_EQ(static_cast<long>(rings->size()), compute) << process.key.pid;
  }
}

TEST(Rings, OfQueuesThatHoldOtherPacketsAreLeftOut) {
  MadeMachine machine;  // whose MQDs do not say AQL
  machine.processes = {{.pid = 50, .queues = {{.queue_id = 0}}}};
  const Recording recording = machine.recording();
  ReplayingOs os(recording);
  const auto rings = find_rings(os, made_paths(), 50);
  ASSERT_FALSE(rings);
  EXPECT_EQ(rings.error().code, ENODATA);
}

TEST(Rings, CannotBeFoundWithoutDebugfs) {
  Recording recording;
  recording.files["/sys/kernel/debug/kfd/mqds"].code = EACCES;
  ReplayingOs os(recording);
  const auto rings = find_rings(os, {}, 7301);
  ASSERT_FALSE(rings);
  EXPECT_EQ(rings.error().code, EACCES);
  EXPECT_NE(rings.error().message().find("debugfs is for root"), std::string::npos);
}

}  // namespace
}  // namespace gp::discover
