// Snapshots of made-up machines: what is there is shown, what is not certain is not.
#include <gtest/gtest.h>

#include <cerrno>

#include "discover/machine_support.h"

namespace gp::discover {
namespace {

using namespace std::string_literals;

// Two processes that both have a queue 0, on two GPUs of four XCCs.
MadeMachine busy_machine() {
  MadeMachine machine;
  machine.gpus = 2;
  machine.xccs = 4;
  MadeProcess trainer{.pid = 200, .start_time = 77};
  trainer.queues = {
      {.queue_id = 0, .gpu = 0, .priority = 0, .ring_bytes = 0x1000, .saved_bytes = 0x40},
      {.queue_id = 1,
       .gpu = 1,
       .priority = 2,
       .active = false,
       .mapped = false,
       .saved_bytes = 0x10},
      {.queue_id = 2, .gpu = 1, .type = QueueType::sdma_xgmi, .ring_base = 0x7f0000900000}};
  MadeProcess server{.pid = 100, .command = "server --port 80"};
  server.environ = "HOME=/\0AMD_QUEUE_TAG=online-chat\0"s;
  server.queues = {{.queue_id = 0, .gpu = 0, .read_index = 16, .write_index = 64}};
  machine.processes = {trainer, server};
  return machine;
}

TEST(Snapshot, NodesComeFromTopologyAndDebugfs) {
  const Snapshot snapshot = snapshot_of(busy_machine().recording());
  EXPECT_TRUE(snapshot.warnings.empty());
  ASSERT_EQ(snapshot.nodes.size(), 2u) << "the CPU is none";
  const Node& node = snapshot.nodes[0];
  EXPECT_EQ(node.node_id, 1u);
  EXPECT_EQ(gfx_name(node), "gfx942");
  EXPECT_EQ(node.cus, 80u);
  EXPECT_EQ(node.xccs, 4u);
  EXPECT_EQ(node.hqds, 24u);
  EXPECT_EQ(node.hqds_active, 2u) << "an AQL queue takes one slot on all XCCs";
  EXPECT_EQ(node.active_queues, 2u);
  EXPECT_EQ(node.save_area_bytes, 4 * 12214272u);
  EXPECT_EQ(node.drm_render_minor, 128u);
}

TEST(Snapshot, ProcessesAreSortedAndIdentified) {
  const Snapshot snapshot = snapshot_of(busy_machine().recording());
  ASSERT_EQ(snapshot.processes.size(), 2u);
  const Process& server = snapshot.processes[0];
  EXPECT_EQ(server.key, (ProcessKey{100, 1000}));
  EXPECT_EQ(server.uid, 1000u);
  EXPECT_EQ(server.command, "server --port 80");
  EXPECT_EQ(server.tag, "online-chat");
  EXPECT_EQ(server.work_class, WorkClass::online);
  EXPECT_EQ(server.class_source, ClassSource::environment);
  const Process& trainer = snapshot.processes[1];
  EXPECT_EQ(trainer.key, (ProcessKey{200, 77}));
  EXPECT_EQ(trainer.work_class, WorkClass::offline);
  EXPECT_EQ(trainer.class_source, ClassSource::queue_priority);
  ASSERT_EQ(trainer.gpus.size(), 2u);
  EXPECT_EQ(trainer.gpus[0].vram_bytes, 4096u);
  EXPECT_EQ(trainer.gpus[0].evicted_ms, 12u);
  EXPECT_FALSE(trainer.gpus[0].cu_occupancy) << "costly: only on request";
}

TEST(Snapshot, DebugfsIsJoinedWithQueueIds) {
  const Snapshot snapshot = snapshot_of(busy_machine().recording());
  const std::vector<Queue>& queues = snapshot.processes.at(1).queues;
  ASSERT_EQ(queues.size(), 3u);
  const Queue& running = queues[0];
  EXPECT_EQ(running.queue_id, 0u);
  EXPECT_EQ(running.gpu_id, 0xf000u);
  EXPECT_EQ(running.priority, 0u);
  EXPECT_EQ(running.mapped, true);
  EXPECT_EQ(running.active, true);
  EXPECT_EQ(running.saved_bytes, 4 * 0x40u) << "of all XCCs";
  const Queue& stopped = queues[1];
  EXPECT_EQ(stopped.queue_id, 1u);
  EXPECT_EQ(stopped.mapped, false);
  EXPECT_EQ(stopped.active, false);
  EXPECT_EQ(stopped.priority, 2u);
  const Queue& sdma = queues[2];
  EXPECT_EQ(sdma.type, QueueType::sdma_xgmi) << "sysfs knows better than mqds";
  EXPECT_EQ(sdma.mapped, true);
  EXPECT_EQ(sdma.active, true);
  EXPECT_FALSE(sdma.priority);
  EXPECT_FALSE(sdma.saved_bytes);
}

TEST(Snapshot, PointersOfAMappedQueueComeFromItsSlot) {
  const Snapshot snapshot = snapshot_of(busy_machine().recording());
  const Queue& queue = snapshot.processes.at(0).queues.at(0);
  EXPECT_EQ(queue.read_index, 16u);
  EXPECT_EQ(queue.write_index, 64u);
}

TEST(Snapshot, PointersThatMayBeStaleAreNotShown) {
  Recording recording = busy_machine().recording();
  recording.remove("/sys/kernel/debug/kfd/hqds");
  const Snapshot snapshot = snapshot_of(recording);
  const Queue& running = snapshot.processes.at(0).queues.at(0);
  EXPECT_FALSE(running.mapped);
  EXPECT_FALSE(running.read_index) << "in the MQD it is that of the last unmap";
  EXPECT_EQ(running.active, true);
  const Queue& stopped = snapshot.processes.at(1).queues.at(1);
  EXPECT_EQ(stopped.read_index, 0u) << "not in the run list: the MQD is up to date";
  ASSERT_EQ(snapshot.warnings.size(), 1u);
  EXPECT_NE(snapshot.warnings[0].find("hqds"), std::string::npos);
}

TEST(Snapshot, ARunListIsNoStatementWhereTheSchedulerKeepsNone) {
  MadeMachine machine = busy_machine();
  machine.gfx_target_version = 110000;
  for (MadeProcess& process : machine.processes) {
    for (MadeQueue& queue : process.queues) {
      queue.active = false;  // MES: rls is always empty
      queue.mapped = false;
    }
  }
  Recording recording = machine.recording();
  std::string& hqds = recording.files["/sys/kernel/debug/kfd/hqds"].value;
  for (std::size_t at; (at = hqds.find(" 0000c914:")) != std::string::npos;) {
    hqds.replace(at, 10, " 0000c824:");  // the next lines no longer follow, as on gfx11
  }
  const Snapshot snapshot = snapshot_of(recording);
  EXPECT_FALSE(snapshot.processes.at(0).queues.at(0).active);
  EXPECT_FALSE(snapshot.nodes.at(0).active_queues);
}

TEST(Snapshot, WithoutDebugfsThereIsOneWarningAndTheRest) {
  Recording recording = busy_machine().recording();
  for (const char* name : {"mqds", "hqds", "rls"}) {
    recording.files["/sys/kernel/debug/kfd/"s + name] = {"", EACCES};
  }
  const Snapshot snapshot = snapshot_of(recording);
  ASSERT_EQ(snapshot.warnings.size(), 1u);
  EXPECT_NE(snapshot.warnings[0].find("Permission denied"), std::string::npos);
  EXPECT_EQ(snapshot.processes.size(), 2u);
  const Queue& queue = snapshot.processes[0].queues.at(0);
  EXPECT_FALSE(queue.priority || queue.mapped || queue.active || queue.ring_base);
  EXPECT_EQ(queue.ring_bytes, 0x100000u);
}

TEST(Snapshot, DebugfsIsNotTouchedUnlessAsked) {
  Recording asked;
  const Recording machine = busy_machine().recording();
  ReplayingOs below(machine);
  RecordingOs os(below, asked);
  ASSERT_TRUE(take_snapshot(os, made_paths(), {}, {.debugfs = false}));
  for (const auto& [path, answer] : asked.files) {
    EXPECT_FALSE(path.starts_with("/sys/kernel/debug")) << path;
    EXPECT_EQ(path.find("cu_occupancy"), std::string::npos) << path;
  }
}

TEST(Snapshot, DebugfsAloneShowsQueuesWithoutIds) {
  const Recording recording = busy_machine().recording();
  ReplayingOs os(recording);
  Paths paths = made_paths();
  paths.sysfs = "";
  paths.live = false;
  const auto snapshot = take_snapshot(os, paths, {}, {});
  ASSERT_TRUE(snapshot);
  ASSERT_EQ(snapshot->nodes.size(), 2u);
  EXPECT_EQ(snapshot->nodes[0].hqds, 24u);
  EXPECT_EQ(snapshot->nodes[0].xccs, 4u);
  EXPECT_FALSE(snapshot->nodes[0].cus);
  ASSERT_EQ(snapshot->processes.size(), 2u);
  EXPECT_EQ(snapshot->processes[0].key, (ProcessKey{100, 0}));
  EXPECT_EQ(snapshot->processes[0].command, "") << "nothing of this machine's /proc";
  EXPECT_FALSE(snapshot->processes[1].queues.at(0).queue_id);
  EXPECT_EQ(snapshot->processes[1].queues.at(0).mapped, true);
}

TEST(Snapshot, NoDriverIsAnError) {
  const Recording nothing;
  ReplayingOs os(nothing);
  const auto snapshot = take_snapshot(os, made_paths(), {}, {});
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error().code, ENOENT);
}

TEST(Snapshot, AGpuThatAContainerMayNotSeeIsLeftOutWithAWarning) {
  Recording recording = busy_machine().recording();
  recording.files["/sys/class/kfd/kfd/topology/nodes/2/gpu_id"] = {"", EPERM};
  recording.remove("/sys/kernel/debug/kfd");
  const Snapshot snapshot = snapshot_of(recording, {}, {.debugfs = false});
  EXPECT_EQ(snapshot.nodes.size(), 1u);
  ASSERT_EQ(snapshot.warnings.size(), 1u);
  EXPECT_NE(snapshot.warnings[0].find("1 nodes"), std::string::npos);
}

TEST(Snapshot, AProcessThatHasEndedIsNotShown) {
  Recording recording = busy_machine().recording();
  recording.remove("/proc/200");
  EXPECT_EQ(snapshot_of(recording).processes.size(), 1u);
}

TEST(Snapshot, AZombieIsNotShown) {
  Recording recording = busy_machine().recording();
  std::string& stat = recording.files["/proc/200/stat"].value;
  stat.replace(stat.find(") S"), 3, ") Z");
  EXPECT_EQ(snapshot_of(recording).processes.size(), 1u);
}

TEST(Snapshot, AProcessThatMayNotBeReadIsShownWithWhatIsKnown) {
  Recording recording = busy_machine().recording();
  recording.files["/proc/100/environ"] = {"", EACCES};
  const Snapshot snapshot = snapshot_of(recording);
  EXPECT_EQ(snapshot.processes.at(0).command, "server --port 80");
  EXPECT_EQ(snapshot.processes[0].tag, "");
  EXPECT_EQ(snapshot.processes[0].class_source, ClassSource::queue_priority);
}

TEST(Snapshot, AProcessThatIsHiddenIsShownWithWhatIsKnown) {
  Recording recording = busy_machine().recording();
  recording.remove("/proc/1");
  recording.remove("/proc/200");  // hidepid: as if it were not there
  const Snapshot snapshot = snapshot_of(recording);
  ASSERT_EQ(snapshot.processes.size(), 2u);
  EXPECT_EQ(snapshot.processes[1].key, (ProcessKey{200, 0}));
  EXPECT_EQ(snapshot.processes[1].queues.size(), 3u);
}

// The pid in sysfs is the host's. In the container that number is another process.
TEST(Snapshot, InAContainerThePidsOfTheHostAreNotTakenForOurs) {
  Recording recording = busy_machine().recording();
  const Os::FileStatus sysfs{.device = 22, .is_sysfs = true};
  recording.statuses["/sys"] = {sysfs, 0};
  recording.statuses["/sys/class/kfd/kfd/proc"] = {sysfs, 0};
  recording.links["/proc/self/ns/pid"] = {"pid:[4026532999]", 0};
  const Snapshot snapshot = snapshot_of(recording);
  ASSERT_EQ(snapshot.processes.size(), 2u);
  EXPECT_FALSE(snapshot.processes[0].pid_is_ours);
  EXPECT_EQ(snapshot.processes[0].command, "");
  EXPECT_EQ(snapshot.processes[0].key.start_time, 0u);
  EXPECT_EQ(find_process(snapshot, 100), nullptr);
  EXPECT_TRUE(find(snapshot, {.pid = 100}).empty());

  recording.links["/proc/self/ns/pid"] = {"pid:[4026531836]", 0};
  EXPECT_TRUE(snapshot_of(recording).processes.at(0).pid_is_ours);
}

TEST(Snapshot, AContainersOwnPidIsTranslated) {
  Recording recording = busy_machine().recording();
  recording.add_file("/proc/200/status", "Uid:\t0\t0\t0\t0\nNSpid:\t200\t7\n");
  const Snapshot snapshot = snapshot_of(recording);
  EXPECT_EQ(snapshot.processes.at(1).namespace_pid, 7);
  EXPECT_FALSE(snapshot.processes.at(0).namespace_pid);
}

TEST(Snapshot, FindsByProcessClassTagPriorityAndRing) {
  const Snapshot snapshot = snapshot_of(busy_machine().recording());
  EXPECT_EQ(find(snapshot, {}).size(), 4u);
  EXPECT_EQ(find(snapshot, {.pid = 200}).size(), 3u);
  EXPECT_EQ(find(snapshot, {.work_class = WorkClass::online}).size(), 1u);
  EXPECT_EQ(find(snapshot, {.tag = "online-chat"}).size(), 1u);
  EXPECT_EQ(find(snapshot, {.tag = "online"}).size(), 0u);
  EXPECT_EQ(find(snapshot, {.priority = {{0, 2}}}).size(), 2u);
  EXPECT_EQ(find(snapshot, {.priority = {{1, 15}}}).size(), 2u);
  EXPECT_EQ(find(snapshot, {.ring = {{0x7f0000900000, 0x7f0000900001}}}).size(), 1u);
  EXPECT_EQ(find(snapshot, {.ring = {{0x7f0000900001, ~u64{0}}}}).size(), 0u);
  EXPECT_EQ(find(snapshot, {.pid = 200, .work_class = WorkClass::online}).size(), 0u);
}

TEST(Snapshot, AnnotatedQueuesAreJoinedByIdAndPciAddress) {
  Recording recording = busy_machine().recording();
  recording.add_file("/sys/kernel/debug/kfd/mqds",
                     "Compute queue on device 0001:02:00.0\n"
                     "    Queue ID: 1 (0x1)\n"
                     "    Process: pid 200 pasid 0x8001\n"
                     "    is active: no\n"
                     "    priority: 3\n");
  const Snapshot snapshot = snapshot_of(recording);
  const Queue& queue = snapshot.processes.at(1).queues.at(1);
  EXPECT_EQ(queue.queue_id, 1u);
  EXPECT_EQ(queue.priority, 3u);
  EXPECT_EQ(queue.active, false);
  EXPECT_FALSE(queue.mapped);
  EXPECT_FALSE(snapshot.processes[1].queues[0].priority);

  ReplayingOs os(recording);
  Paths paths = made_paths();
  paths.live = false;
  recording.remove("/sys/class/kfd/kfd/proc");
  const auto saved = take_snapshot(os, paths, {}, {});
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->processes.at(0).queues.at(0).gpu_id, 0xf001u);
}

}  // namespace
}  // namespace gp::discover
