// Readings of debugfs name no queue id. They are given to one only where that is certain.
#include <gtest/gtest.h>

#include "discover/machine_support.h"

namespace gp::discover {
namespace {

// Four queues alike but for their priorities. The ids do not tell the order: 0 was used again.
MadeMachine four_alike(bool real_sysfs) {
  MadeMachine machine;
  MadeProcess process{.pid = 50};
  const u32 ids[] = {1, 2, 0, 3};  // in order of creation
  for (u32 i = 0; i < 4; ++i) {
    process.queues.push_back({.queue_id = ids[i],
                              .priority = i,
                              .ring_base = u64{0x7f0000000000} + i * 0x100000,
                              .created = real_sysfs ? 9000 + i * 10 : 0});
  }
  machine.processes = {process};
  return machine;
}

const Queue& queue_of(const Snapshot& snapshot, u32 id) {
  for (const Queue& queue : snapshot.processes.at(0).queues) {
    if (queue.queue_id == id) {
      return queue;
    }
  }
  throw std::out_of_range("no such queue");
}

TEST(Assign, OnARealSysfsTheOrderOfCreationTells) {
  const Snapshot snapshot = snapshot_of(four_alike(true).recording());
  EXPECT_EQ(queue_of(snapshot, 1).priority, 0u);
  EXPECT_EQ(queue_of(snapshot, 2).priority, 1u);
  EXPECT_EQ(queue_of(snapshot, 0).priority, 2u);
  EXPECT_EQ(queue_of(snapshot, 3).priority, 3u);
  EXPECT_TRUE(snapshot.processes[0].unassigned.empty());
}

TEST(Assign, ElsewhereWhatDiffersStaysUnknownAndWhatAllShareIsShown) {
  const Snapshot snapshot = snapshot_of(four_alike(false).recording());
  for (const Queue& queue : snapshot.processes.at(0).queues) {
    EXPECT_FALSE(queue.priority);
    EXPECT_FALSE(queue.ring_base);
    EXPECT_FALSE(queue.mqd_address);
    EXPECT_EQ(queue.mapped, true);
    EXPECT_EQ(queue.active, true);
    EXPECT_EQ(queue.pipe_priority, 0u);
  }
  EXPECT_EQ(snapshot.processes[0].unassigned.size(), 4u);
  EXPECT_EQ(snapshot.processes[0].work_class, WorkClass::offline) << "whichever is which";
  EXPECT_TRUE(snapshot.warnings.empty());
}

TEST(Assign, RingSizesTellQueuesApart) {
  MadeMachine machine = four_alike(false);
  machine.processes[0].queues[2].ring_bytes = 0x1000;
  const Snapshot snapshot = snapshot_of(machine.recording());
  EXPECT_EQ(queue_of(snapshot, 0).priority, 2u);
  EXPECT_FALSE(queue_of(snapshot, 1).priority);
}

TEST(Assign, AQueueThatOneSourceDoesNotHaveMakesItsKindUncertain) {
  const MadeMachine machine = four_alike(true);
  Recording recording = machine.recording();
  recording.remove("/sys/class/kfd/kfd/proc/50/queues/3");
  const Snapshot snapshot = snapshot_of(recording);
  EXPECT_EQ(snapshot.processes.at(0).queues.size(), 3u);
  for (const Queue& queue : snapshot.processes[0].queues) {
    EXPECT_FALSE(queue.priority);
  }
  ASSERT_EQ(snapshot.warnings.size(), 1u);
  EXPECT_NE(snapshot.warnings[0].find("while they were read"), std::string::npos);
}

}  // namespace
}  // namespace gp::discover
