// Real dumps of a server with eight MI308X, AMD's DKMS driver, one process with 16 HIP streams.
// They are not part of this repository: without them (GPREEMPT_DUMPS) these tests are skipped, and
// gfx942_test.cpp stands for them.
#include <gtest/gtest.h>

#include <filesystem>

#include "discover/discover.h"
#include "discover/hqds.h"
#include "support/recorded_os.h"

namespace gp::discover {
namespace {

class Mi308x : public testing::Test {
 protected:
  void SetUp() override {
    const std::string directory = GPREEMPT_DUMPS "/";
    for (const char* name : {"mqds", "hqds"}) {
      auto text = system_os().read_file(directory + name + "_16.txt");
      if (!text) {
        GTEST_SKIP() << "no dumps of an MI308X here: " << text.error().message();
      }
      recording_.add_file(std::string("/copy/") + name, std::move(*text));
    }
    ReplayingOs os(recording_);
    auto snapshot =
        take_snapshot(os, {.sysfs = "", .debugfs = "/copy", .proc = "", .live = false}, {}, {});
    ASSERT_TRUE(snapshot);
    snapshot_ = std::move(*snapshot);
  }
  Recording recording_;
  Snapshot snapshot_;
};

TEST_F(Mi308x, HasEightNodesOf24SlotsOnFourXccs) {
  ASSERT_EQ(snapshot_.nodes.size(), 8u);
  for (const Node& node : snapshot_.nodes) {
    EXPECT_EQ(node.hqds, 24u);
    EXPECT_EQ(node.xccs, 4u);
    EXPECT_EQ(node.hqds_active, node.gpu_id == 0xf7bc ? 5u : 0u);
    EXPECT_FALSE(node.active_queues) << "there is no rls";
  }
  EXPECT_EQ(snapshot_.nodes[0].node_id, 2u);
  EXPECT_EQ(snapshot_.nodes[7].gpu_id, 0xc3f1u);
}

TEST_F(Mi308x, HasOneProcessWithFiveComputeQueues) {
  ASSERT_EQ(snapshot_.processes.size(), 1u);
  const Process& process = snapshot_.processes[0];
  EXPECT_EQ(process.key.pid, 94314);
  EXPECT_EQ(process.work_class, WorkClass::normal);
  ASSERT_EQ(process.queues.size(), 5u);
  for (const Queue& queue : process.queues) {
    EXPECT_EQ(queue.type, QueueType::compute);
    EXPECT_EQ(queue.gpu_id, 0xf7bcu);
    EXPECT_EQ(queue.priority, 7u);
    EXPECT_EQ(queue.pipe_priority, 1u);
    EXPECT_EQ(queue.mapped, true);
    EXPECT_EQ(queue.active, true) << "who holds a slot is in the run list";
    EXPECT_EQ(queue.saved_bytes, 0u);
    EXPECT_FALSE(queue.queue_id);
  }
}

TEST_F(Mi308x, QueuesHaveTheirRingsAndPointers) {
  const std::vector<Queue>& queues = snapshot_.processes.at(0).queues;
  EXPECT_EQ(queues[0].mqd_address, 0x17ba000u);
  EXPECT_EQ(queues[0].ring_base, 0x7f41b5200000u);
  EXPECT_EQ(queues[0].ring_bytes, 0x100000u);
  EXPECT_EQ(queues[0].doorbell, 0x1008u);
  EXPECT_EQ(queues[4].mqd_address, 0x6ed000u);
  EXPECT_EQ(queues[4].ring_base, 0x7f61c15a6000u);
  EXPECT_EQ(queues[4].ring_bytes, 0x1000u);
  EXPECT_EQ(queues[4].read_index, 16u);
  EXPECT_EQ(queues[4].write_index, 16u);
}

TEST_F(Mi308x, EveryQueueHoldsTheSameSlotOnAllXccs) {
  const Hqds hqds = parse_hqds(recording_.files["/copy/hqds"].value);
  EXPECT_EQ(hqds.damaged_lines, 0u);
  ASSERT_EQ(hqds.nodes.at(0).compute.size(), 20u);
  EXPECT_EQ(hqds.nodes[0].sdma_slots, 512u / 8);
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t xcc = 1; xcc < 4; ++xcc) {
      const ComputeSlot& first = hqds.nodes[0].compute[i];
      const ComputeSlot& other = hqds.nodes[0].compute[xcc * 5 + i];
      EXPECT_EQ(other.instance, xcc);
      EXPECT_EQ(other.pipe, first.pipe);
      EXPECT_EQ(other.queue, first.queue);
      EXPECT_EQ(other.registers.mqd_address, *first.registers.mqd_address + xcc * 0x3000);
    }
  }
}

TEST_F(Mi308x, OnlyTheMissingFileIsWarnedOf) {
  ASSERT_EQ(snapshot_.warnings.size(), 1u);
  EXPECT_NE(snapshot_.warnings[0].find("rls"), std::string::npos);
}

}  // namespace
}  // namespace gp::discover
