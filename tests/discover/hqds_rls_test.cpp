// debugfs hqds and rls: who holds a slot, who is in the run list.
#include <gtest/gtest.h>

#include "discover/hqds.h"
#include "discover/machine_support.h"
#include "discover/rls.h"

namespace gp::discover {
namespace {

MadeMachine machine_with_queues() {
  MadeMachine machine;
  machine.gpus = 2;
  machine.xccs = 4;
  MadeProcess process{.pid = 12};
  process.queues = {{.queue_id = 0, .gpu = 1, .read_index = 32, .write_index = 48},
                    {.queue_id = 1, .gpu = 1, .type = QueueType::sdma},
                    {.queue_id = 2, .gpu = 1, .active = false, .mapped = false}};
  machine.processes = {process};
  return machine;
}

TEST(Hqds, ASlotIsOneForAllXccs) {
  const Hqds hqds = parse_hqds(machine_with_queues().hqds());
  ASSERT_EQ(hqds.nodes.size(), 2u);
  EXPECT_EQ(hqds.damaged_lines, 0u);
  EXPECT_EQ(hqds.nodes[1].gpu_id, 0xf001u);
  EXPECT_EQ(hqds.nodes[1].instances, 4u);
  EXPECT_EQ(hqds.nodes[1].compute_slots, 24u);
  EXPECT_EQ(hqds.nodes[1].compute.size(), 4u) << "one queue on four XCCs";
  EXPECT_TRUE(hqds.nodes[1].compute_is_whole);
  EXPECT_TRUE(hqds.nodes[0].compute.empty());
}

// XCC n has registers at another address than XCC 0.
TEST(Hqds, RegistersCountFromTheFirstAddressOfTheirBlock) {
  const MadeMachine machine = machine_with_queues();
  const Hqds hqds = parse_hqds(machine.hqds());
  const u64 mqd = machine.mqd_address(machine.processes[0], machine.processes[0].queues[0]);
  for (const ComputeSlot& slot : hqds.nodes.at(1).compute) {
    EXPECT_EQ(slot.registers.mqd_address, mqd + slot.instance * 0x3000);
    EXPECT_EQ(slot.registers.read_index, 32u);
    EXPECT_EQ(slot.registers.write_index, 48u);
  }
}

TEST(Hqds, SdmaQueuesAreFoundByTheirDoorbell) {
  const MadeMachine machine = machine_with_queues();
  const Hqds hqds = parse_hqds(machine.hqds());
  ASSERT_EQ(hqds.nodes.at(1).sdma.size(), 1u);
  EXPECT_EQ(hqds.nodes[1].sdma[0].registers.doorbell,
            machine.doorbell(machine.processes[0], machine.processes[0].queues[1]));
  EXPECT_EQ(hqds.nodes[1].sdma_slots, 4u);
}

TEST(Hqds, AStoppedDeviceHasNoSlots) {
  const Hqds hqds = parse_hqds("Node 1, gpu_id f000:\n Device is stopped\n");
  ASSERT_EQ(hqds.nodes.size(), 1u);
  EXPECT_TRUE(hqds.nodes[0].stopped);
  EXPECT_FALSE(hqds.nodes[0].compute_is_whole);
}

TEST(Hqds, AFileCutAnywhereIsNotWhole) {
  MadeMachine machine = machine_with_queues();
  machine.gpus = 1;
  machine.processes[0].queues[0].gpu = 0;
  const std::string text = machine.hqds();
  const std::size_t sdma = text.find("  SDMA Engine 0, RLC 0\n");
  for (std::size_t length = 0; length <= sdma; length += 97) {
    const Hqds hqds = parse_hqds(std::string_view(text).substr(0, length));
    if (!hqds.nodes.empty()) {
      EXPECT_FALSE(hqds.nodes[0].compute_is_whole) << length;
    }
  }
}

TEST(Rls, ListsTheQueuesThatShallRun) {
  const MadeMachine machine = machine_with_queues();
  const Rls rls = parse_rls(machine.rls());
  ASSERT_EQ(rls.nodes.size(), 2u);
  EXPECT_TRUE(rls.nodes[0].none);
  EXPECT_TRUE(rls.nodes[0].is_whole);
  ASSERT_EQ(rls.nodes[1].queues.size(), 2u);
  EXPECT_TRUE(rls.nodes[1].is_whole);
  const MadeProcess& process = machine.processes[0];
  EXPECT_EQ(rls.nodes[1].queues[0].mqd_address, machine.mqd_address(process, process.queues[0]));
  EXPECT_EQ(rls.nodes[1].queues[1].doorbell, machine.doorbell(process, process.queues[1]));
}

TEST(Rls, BehindAnUnknownPacketNothingIsCertain) {
  std::string text = machine_with_queues().rls();
  const std::size_t header = text.find("c005a200");
  ASSERT_NE(header, std::string::npos);
  text.replace(header, 8, "c005b700");
  const Rls rls = parse_rls(text);
  EXPECT_FALSE(rls.nodes.at(1).is_whole);
  EXPECT_TRUE(rls.nodes[1].queues.empty());
}

TEST(Rls, APacketThatIsCutOffDoesNotCount) {
  const std::string text =
      "Node 1, gpu_id f000:\n"
      "  00000000: c005a200 20100000 00004000 01000000\n";
  const Rls rls = parse_rls(text);
  EXPECT_FALSE(rls.nodes.at(0).is_whole);
  EXPECT_TRUE(rls.nodes[0].queues.empty());
}

}  // namespace
}  // namespace gp::discover
