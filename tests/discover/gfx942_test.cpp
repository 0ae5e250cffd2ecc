// The files of tests/fixtures/gfx942: two GPUs of four XCCs, three processes, seven queues. Every
// value here is one of the table in tests/fixtures/generate.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "discover/fixture_support.h"
#include "discover/hqds.h"
#include "discover/mqds.h"
#include "discover/rls.h"

namespace gp::discover {
namespace {

constexpr u32 kFirstGpu = 0x6d31, kSecondGpu = 0xb84e;
constexpr u64 kMqdStride = 0x3000;

class Gfx942 : public testing::Test {
 protected:
  std::string debugfs(const std::string& name) const {
    return recording_.files.at("/copy/debugfs/" + name).value;
  }
  const Process& process(pid_t pid) const { return *find_process(snapshot_, pid); }
  const Queue& queue(pid_t pid, u32 id) const {
    const std::vector<Queue>& queues = process(pid).queues;
    return *std::ranges::find(queues, std::optional(id), &Queue::queue_id);
  }

  Recording recording_ = gfx942_recording();
  const Snapshot snapshot_ = gfx942_snapshot(recording_, {.debugfs = true, .occupancy = true});
};

// ---- the snapshot: all files together ----

TEST_F(Gfx942, IsReadWithoutAWarning) {
  EXPECT_TRUE(snapshot_.warnings.empty()) << snapshot_.warnings.front();
}

TEST_F(Gfx942, HasTwoNodesOfFourXccs) {
  ASSERT_EQ(snapshot_.nodes.size(), 2u);
  for (const Node& node : snapshot_.nodes) {
    EXPECT_EQ(gfx_name(node), "gfx942");
    EXPECT_EQ(node.cus, 80u);
    EXPECT_EQ(node.xccs, 4u);
    EXPECT_EQ(node.hqds, 24u);
    EXPECT_EQ(node.save_area_bytes, 4u * 0xba6000);
    EXPECT_EQ(node.hqds_active, 2u);
  }
  EXPECT_EQ(snapshot_.nodes[0].node_id, 1u);
  EXPECT_EQ(snapshot_.nodes[0].gpu_id, kFirstGpu);
  EXPECT_EQ(snapshot_.nodes[0].drm_render_minor, 128u);
  EXPECT_EQ(snapshot_.nodes[0].active_queues, 3u) << "two compute queues and SDMA";
  EXPECT_EQ(snapshot_.nodes[1].node_id, 2u);
  EXPECT_EQ(snapshot_.nodes[1].gpu_id, kSecondGpu);
  EXPECT_EQ(snapshot_.nodes[1].drm_render_minor, 129u);
  EXPECT_EQ(snapshot_.nodes[1].active_queues, 2u);
}

TEST_F(Gfx942, HasProcessesOfAllClasses) {
  ASSERT_EQ(snapshot_.processes.size(), 3u);
  EXPECT_EQ(process(7301).key.start_time, 88123u);
  EXPECT_EQ(process(7301).command, "python3 train.py --epochs 3");
  EXPECT_EQ(process(7301).work_class, WorkClass::offline);
  EXPECT_EQ(process(7301).class_source, ClassSource::queue_priority);
  EXPECT_EQ(process(7344).key.start_time, 91007u) << "its name has parentheses";
  EXPECT_EQ(process(7344).uid, 1001u);
  EXPECT_EQ(process(7344).tag, "frontend");
  EXPECT_EQ(process(7344).work_class, WorkClass::online);
  EXPECT_EQ(process(7344).class_source, ClassSource::run_command);
  EXPECT_EQ(process(8120).work_class, WorkClass::normal);
  EXPECT_EQ(process(8120).class_source, ClassSource::queue_priority);
}

TEST_F(Gfx942, ProcessesUseTheGpusTheirQueuesAreOn) {
  ASSERT_EQ(process(7301).gpus.size(), 1u);
  EXPECT_EQ(process(7301).gpus[0].gpu_id, kFirstGpu);
  EXPECT_EQ(process(7301).gpus[0].vram_bytes, 3u << 30);
  EXPECT_EQ(process(7301).gpus[0].evicted_ms, 12u);
  EXPECT_EQ(process(7301).gpus[0].cu_occupancy, 10u);
  ASSERT_EQ(process(7344).gpus.size(), 2u);
  EXPECT_EQ(process(7344).gpus[0].gpu_id, kFirstGpu);
  EXPECT_EQ(process(7344).gpus[1].gpu_id, kSecondGpu);
}

TEST_F(Gfx942, AMappedQueueHasItsRingAndThePointersOfItsSlot) {
  const Queue& running = queue(7301, 1);
  EXPECT_EQ(running.type, QueueType::compute);
  EXPECT_EQ(running.gpu_id, kFirstGpu);
  EXPECT_EQ(running.priority, 0u);
  EXPECT_EQ(running.pipe_priority, 0u);
  EXPECT_EQ(running.mapped, true);
  EXPECT_EQ(running.active, true);
  EXPECT_EQ(running.ring_base, 0x7e1122200000u);
  EXPECT_EQ(running.ring_bytes, 0x4000u);
  EXPECT_EQ(running.read_index, 0x40u);
  EXPECT_EQ(running.write_index, 0x80u);
  EXPECT_EQ(running.doorbell, 0x1804u);
  EXPECT_EQ(running.mqd_address, 0x2a10000u);
  EXPECT_EQ(running.saved_bytes, 0u);
}

TEST_F(Gfx942, AStoppedQueueHasItsWavesSavedOnAllXccs) {
  const Queue& stopped = queue(7301, 2);
  EXPECT_EQ(stopped.priority, 3u);
  EXPECT_EQ(stopped.pipe_priority, 0u);
  EXPECT_EQ(stopped.mapped, false);
  EXPECT_EQ(stopped.active, false);
  EXPECT_EQ(stopped.read_index, 0x120u) << "of the last unmap";
  EXPECT_EQ(stopped.write_index, 0x200u);
  EXPECT_EQ(stopped.saved_bytes, 0x5000u + 0x4000 + 0x5000 + 0x3000);
}

TEST_F(Gfx942, AnSdmaQueueIsJoinedByItsDoorbell) {
  const Queue& copies = queue(7301, 0);
  EXPECT_EQ(copies.type, QueueType::sdma);
  EXPECT_EQ(copies.mapped, true);
  EXPECT_EQ(copies.active, true);
  EXPECT_EQ(copies.ring_base, 0x7e1100000000u);
  EXPECT_EQ(copies.ring_bytes, 0x100000u);
  EXPECT_EQ(copies.read_index, 0x1c0u / 4) << "SDMA counts bytes";
  EXPECT_FALSE(copies.priority);
  EXPECT_FALSE(copies.mqd_address);
}

TEST_F(Gfx942, TheOnlineProcessHasAQueueOnEachGpu) {
  EXPECT_EQ(queue(7344, 0).gpu_id, kFirstGpu);
  EXPECT_EQ(queue(7344, 0).mqd_address, 0x3b10000u);
  EXPECT_EQ(queue(7344, 1).gpu_id, kSecondGpu);
  EXPECT_EQ(queue(7344, 1).mqd_address, 0x1190000u);
  for (const u32 id : {0u, 1u}) {
    EXPECT_EQ(queue(7344, id).priority, 11u);
    EXPECT_EQ(queue(7344, id).pipe_priority, 2u);
    EXPECT_EQ(queue(7344, id).mapped, true);
  }
}

TEST_F(Gfx942, OfTwoQueuesAlikeItIsNotKnownWhichIsStopped) {
  for (const u32 id : {3u, 4u}) {
    EXPECT_EQ(queue(8120, id).priority, 7u) << "both have it";
    EXPECT_FALSE(queue(8120, id).mapped);
    EXPECT_FALSE(queue(8120, id).active);
    EXPECT_FALSE(queue(8120, id).ring_base);
  }
  ASSERT_EQ(process(8120).unassigned.size(), 2u);
  EXPECT_EQ(process(8120).unassigned[0].active, false) << "the newest is first";
  EXPECT_EQ(process(8120).unassigned[1].active, true);
}

TEST_F(Gfx942, OnASysfsTheirInodesTell) {
  for (const auto& [id, inode] : {std::pair{4, 500}, {3, 777}}) {  // id 3 was used again
    recording_.statuses["/copy/sysfs/proc/8120/queues/" + std::to_string(id)].value = {
        .mode = 0755,
        .uid = 0,
        .gid = 0,
        .device = 22,
        .inode = static_cast<u64>(inode),
        .is_sysfs = true};
  }
  const Snapshot snapshot = gfx942_snapshot(recording_);
  const Process& notebook = *find_process(snapshot, 8120);
  EXPECT_TRUE(notebook.unassigned.empty());
  ASSERT_EQ(notebook.queues.size(), 2u);
  EXPECT_EQ(notebook.queues[0].queue_id, 3u);
  EXPECT_EQ(notebook.queues[0].active, false);
  EXPECT_EQ(notebook.queues[0].ring_base, 0x7c8890000000u);
  EXPECT_EQ(notebook.queues[1].queue_id, 4u);
  EXPECT_EQ(notebook.queues[1].active, true);
  EXPECT_EQ(notebook.queues[1].ring_base, 0x7c8880000000u);
}

// ---- the files of debugfs, each alone ----

TEST_F(Gfx942, MqdsHasTheQueuesOfEachProcessNewestFirst) {
  const Mqds mqds = parse_mqds(debugfs("mqds"));
  EXPECT_EQ(mqds.damaged_lines, 0u);
  ASSERT_EQ(mqds.queues.size(), 7u);
  const pid_t pids[] = {7301, 7301, 7301, 7344, 7344, 8120, 8120};
  const u64 rings[] = {0x7e1122400000, 0x7e1122200000, 0x7e1100000000, 0x7d0050000000,
                       0x7d0040000000, 0x7c8890000000, 0x7c8880000000};
  for (std::size_t i = 0; i < std::size(pids); ++i) {
    EXPECT_EQ(mqds.queues[i].pid, pids[i]);
    EXPECT_EQ(mqds.queues[i].instances.at(0)->ring_base, rings[i]);
  }
}

TEST_F(Gfx942, AComputeQueueHasAnMqdPerXccAndSdmaHasOne) {
  for (const MqdQueue& queue : parse_mqds(debugfs("mqds")).queues) {
    const bool compute = queue.type == QueueType::compute;
    ASSERT_EQ(queue.instances.size(), compute ? 4u : 1u);
    for (std::size_t xcc = 0; compute && xcc < 4; ++xcc) {
      EXPECT_EQ(queue.instances[xcc]->mqd_address,
                *queue.instances[0]->mqd_address + xcc * kMqdStride);
    }
  }
}

TEST_F(Gfx942, HqdsHasEveryQueueInTheSameSlotOfAllXccs) {
  const Hqds hqds = parse_hqds(debugfs("hqds"));
  EXPECT_EQ(hqds.damaged_lines, 0u);
  ASSERT_EQ(hqds.nodes.size(), 2u);
  const struct {
    u32 pipe, queue;
    u64 mqd;
  } expected[2][2] = {{{0, 2, 0x2a10000}, {1, 2, 0x3b10000}},
                      {{0, 2, 0x1190000}, {1, 2, 0x1240000}}};
  for (std::size_t node = 0; node < 2; ++node) {
    EXPECT_EQ(hqds.nodes[node].instances, 4u);
    EXPECT_EQ(hqds.nodes[node].compute_slots, 24u);
    EXPECT_EQ(hqds.nodes[node].sdma_slots, 16u);
    ASSERT_EQ(hqds.nodes[node].compute.size(), 2u * 4);
    for (u32 i = 0; i < 8; ++i) {
      const ComputeSlot& slot = hqds.nodes[node].compute[i];
      EXPECT_EQ(slot.instance, i / 2);
      EXPECT_EQ(slot.pipe, expected[node][i % 2].pipe);
      EXPECT_EQ(slot.queue, expected[node][i % 2].queue);
      EXPECT_EQ(slot.registers.mqd_address, expected[node][i % 2].mqd + i / 2 * kMqdStride);
    }
  }
  ASSERT_EQ(hqds.nodes[0].sdma.size(), 1u);
  EXPECT_EQ(hqds.nodes[0].sdma[0].engine, 0u);
  EXPECT_EQ(hqds.nodes[0].sdma[0].rlc, 0u);
  EXPECT_EQ(hqds.nodes[0].sdma[0].registers.doorbell, 0x1800u);
  EXPECT_TRUE(hqds.nodes[1].sdma.empty());
}

TEST_F(Gfx942, RlsHasTheQueuesThatAreToRun) {
  const Rls rls = parse_rls(debugfs("rls"));
  EXPECT_EQ(rls.damaged_lines, 0u);
  ASSERT_EQ(rls.nodes.size(), 2u);
  const std::set<u64> expected[2] = {{0x8a0000, 0x2a10000, 0x3b10000}, {0x1190000, 0x1240000}};
  for (std::size_t node = 0; node < 2; ++node) {
    std::set<u64> listed;
    for (const MappedQueue& queue : rls.nodes[node].queues) {
      listed.insert(queue.mqd_address);
    }
    EXPECT_EQ(listed, expected[node]);
    EXPECT_TRUE(rls.nodes[node].is_whole);
  }
}

}  // namespace
}  // namespace gp::discover
