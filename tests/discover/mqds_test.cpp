// debugfs mqds in each of its forms.
#include "discover/mqds.h"

#include <gtest/gtest.h>

#include "discover/machine_support.h"

namespace gp::discover {
namespace {

MadeMachine two_queues(u32 xccs) {
  MadeMachine machine;
  machine.xccs = xccs;
  MadeProcess process{.pid = 94314};
  process.queues = {{.queue_id = 0, .priority = 15, .saved_bytes = 0x100},
                    {.queue_id = 1, .type = QueueType::sdma, .ring_base = 0x7f0000800000}};
  machine.processes = {process};
  return machine;
}

TEST(Mqds, QueuesAreListedNewestFirst) {
  const Mqds mqds = parse_mqds(two_queues(1).mqds());
  ASSERT_EQ(mqds.queues.size(), 2u);
  EXPECT_EQ(mqds.damaged_lines, 0u);
  EXPECT_EQ(mqds.queues[0].type, QueueType::sdma);
  EXPECT_EQ(mqds.queues[1].type, QueueType::compute);
  for (const MqdQueue& queue : mqds.queues) {
    EXPECT_EQ(queue.pid, 94314);
    EXPECT_EQ(queue.gpu_id, 0xf000u);
  }
}

TEST(Mqds, AComputeMqdHasPriorityRingAndSavedBytes) {
  const MadeMachine machine = two_queues(1);
  const Mqds mqds = parse_mqds(machine.mqds());
  const MqdReading reading = mqds.queues.at(1).instances.at(0).value();
  EXPECT_EQ(reading.mqd_address,
            machine.mqd_address(machine.processes[0], machine.processes[0].queues[0]));
  EXPECT_EQ(reading.priority, 15u);
  EXPECT_EQ(reading.pipe_priority, 2u);
  EXPECT_EQ(reading.ring_base, 0x7f0000100000u);
  EXPECT_EQ(reading.ring_bytes, 0x100000u);
  EXPECT_EQ(reading.saved_bytes, 0x100u);
}

TEST(Mqds, AnSdmaMqdHasItsRingAndNoPriority) {
  const Mqds mqds = parse_mqds(two_queues(1).mqds());
  const MqdReading reading = mqds.queues.at(0).instances.at(0).value();
  EXPECT_EQ(reading.ring_base, 0x7f0000800000u);
  EXPECT_EQ(reading.ring_bytes, 0x100000u);
  EXPECT_FALSE(reading.priority);
}

TEST(Mqds, EveryXccOfAComputeQueueHasAnMqd) {
  const Mqds mqds = parse_mqds(two_queues(4).mqds());
  const MqdQueue& compute = mqds.queues.at(1);
  ASSERT_EQ(compute.instances.size(), 4u);
  EXPECT_EQ(compute.instances[3]->mqd_address, *compute.instances[0]->mqd_address + 3 * 0x3000);
}

// An older compute queue makes the driver dump a later-listed SDMA queue once per XCC.
TEST(Mqds, RepeatedDumpsOfAnSdmaQueueAreNotMistakenForItsState) {
  MadeMachine machine = two_queues(4);
  std::swap(machine.processes[0].queues[0], machine.processes[0].queues[1]);
  const std::string text = machine.mqds();
  ASSERT_NE(text.find("deadbeef"), std::string::npos);
  const Mqds mqds = parse_mqds(text);
  const MqdQueue& sdma = mqds.queues.at(1);
  ASSERT_EQ(sdma.type, QueueType::sdma);
  ASSERT_EQ(sdma.instances.size(), 1u);
  EXPECT_EQ(sdma.instances[0]->ring_base, 0x7f0000800000u);
}

TEST(Mqds, ThePasidOfNewerDriversIsDecimal) {
  MadeMachine machine = two_queues(1);
  machine.dkms_pasid = true;
  ASSERT_TRUE(machine.mqds().starts_with("Process 94314 PASID 94314:\n"));
  EXPECT_EQ(parse_mqds(machine.mqds()).queues.size(), 2u);
}

constexpr char kAnnotated[] =
    "Compute queue on device 0001:01:00.0\n"
    "    Queue ID: 1 (0x1)\n"
    "    Address: 0x7f8c00000000\n"
    "    Process: pid 15234 pasid 0x8001\n"
    "    is active: yes\n"
    "    priority: 7\n"
    "    queue count: 1\n"
    "\n"
    "Compute queue on device f7bc\n"
    "    Queue ID: 12 (0xc)\n"
    "    Process: pid 99 pasid 0x8002\n"
    "    is active: no\n"
    "    priority: 15\n";

TEST(Mqds, TheAnnotatedFormNamesQueueProcessAndPriority) {
  const Mqds mqds = parse_mqds(kAnnotated);
  EXPECT_EQ(mqds.damaged_lines, 0u);
  ASSERT_EQ(mqds.queues.size(), 2u);
  const MqdQueue& first = mqds.queues[0];
  EXPECT_EQ(first.pid, 15234);
  EXPECT_EQ(first.queue_id, 1u);
  EXPECT_EQ(first.pci_address, "0001:01:00.0");
  EXPECT_EQ(first.active, true);
  EXPECT_EQ(first.instances.at(0)->priority, 7u);
  EXPECT_EQ(first.instances.at(0)->ring_base, 0x7f8c00000000u);
  const MqdQueue& second = mqds.queues[1];
  EXPECT_EQ(second.gpu_id, 0xf7bcu);
  EXPECT_EQ(second.queue_id, 12u);
  EXPECT_EQ(second.active, false);
  EXPECT_FALSE(second.instances.at(0)->ring_base);
}

TEST(Mqds, AnnotationsThatContradictThemselvesOrAreOutOfRangeStayUnknown) {
  const Mqds mqds = parse_mqds(
      "Compute queue on device f7bc\n"
      "    Queue ID: 1 (0x2)\n"
      "    Process: pid 7 pasid 0x8001\n"
      "    is active: maybe\n"
      "    priority: 16\n"
      "    colour: red\n");
  ASSERT_EQ(mqds.queues.size(), 1u);
  EXPECT_FALSE(mqds.queues[0].queue_id);
  EXPECT_FALSE(mqds.queues[0].active);
  EXPECT_FALSE(mqds.queues[0].instances.at(0)->priority);
  EXPECT_EQ(mqds.damaged_lines, 3u);
}

TEST(Mqds, AQueueWhoseProcessCannotBeReadIsNotGivenToTheOneBefore) {
  std::string text = two_queues(1).mqds();
  MadeMachine other = two_queues(1);
  other.processes[0].pid = 5;
  std::string second = other.mqds();
  second[0] = '#';
  text += second;
  const Mqds mqds = parse_mqds(text);
  EXPECT_EQ(mqds.queues.size(), 2u);
  EXPECT_EQ(mqds.damaged_lines, 1u);
}

TEST(Mqds, AQueueHeaderThatIsLostDoesNotAddToTheQueueBefore) {
  MadeMachine machine = two_queues(1);
  machine.processes[0].queues[1] = {.queue_id = 1, .priority = 1, .ring_base = 0x7f0000800000};
  std::string text = machine.mqds();
  const std::size_t second = text.rfind("  Compute queue");
  text.erase(second, text.find('\n', second) + 1 - second);
  const Mqds mqds = parse_mqds(text);
  ASSERT_EQ(mqds.queues.size(), 1u);
  EXPECT_EQ(mqds.queues[0].instances.size(), 1u);
  EXPECT_EQ(mqds.queues[0].instances[0]->priority, 1u);
}

TEST(Mqds, NoTextIsNoQueues) {
  EXPECT_TRUE(parse_mqds("").queues.empty());
  EXPECT_EQ(parse_mqds("").damaged_lines, 0u);
}

}  // namespace
}  // namespace gp::discover
