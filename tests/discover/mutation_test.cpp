// Files that are not quite what the driver prints, made of those of tests/fixtures/gfx942: cut
// anywhere, or with another byte in place of one. A digit that becomes another digit cannot be
// noticed, so readings may be wrong; they are never impossible, and no parser comes to harm.
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "discover/fixture_support.h"

namespace gp::discover {
namespace {

void expect_possible(const Queue& queue) {
  EXPECT_LE(queue.priority.value_or(0), 15u);
  EXPECT_LE(queue.pipe_priority.value_or(0), 2u);
  EXPECT_NE(queue.ring_base, 0u) << "unknown is not zero";
  EXPECT_NE(queue.doorbell, 0u) << "the kernel's own";
  EXPECT_LT(queue.doorbell.value_or(0), 1u << 26);
  EXPECT_NE(queue.mqd_address, 0u);
  if (queue.type != QueueType::compute) {
    EXPECT_FALSE(queue.priority);
    EXPECT_FALSE(queue.saved_bytes);
  }
}

void expect_possible(const Snapshot& snapshot) {
  for (const Node& node : snapshot.nodes) {
    EXPECT_NE(node.gpu_id, 0u) << "a CPU";
    EXPECT_LE(node.hqds_active.value_or(0), 24u) << "all slots that were printed";
  }
  for (const Process& process : snapshot.processes) {
    EXPECT_GT(process.key.pid, 0);
    EXPECT_FALSE(process.queues.empty());
    for (const Queue& queue : process.queues) {
      expect_possible(queue);
    }
    for (const Queue& queue : process.unassigned) {
      expect_possible(queue);
      EXPECT_TRUE(!queue.ring_bytes || std::has_single_bit(*queue.ring_bytes));
    }
  }
}

class Mutation : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(gfx942_snapshot(recording_).processes.size(), 3u); }
  // Puts `text` in place of a file and looks; the file is the old one again afterwards.
  void check(std::string& file, std::string text, const Sources& sources) {
    std::swap(file, text);
    expect_possible(gfx942_snapshot(recording_, sources));
    std::swap(file, text);
  }
  std::string mutated(const std::string& text) {
    std::string result = text;
    // Half of them become what the format is made of: those get furthest.
    constexpr char kAlphabet[] = "0123456789abcdef ,:\nPNIC";
    result[random_() % result.size()] = random_() % 2
                                            ? kAlphabet[random_() % (sizeof kAlphabet - 1)]
                                            : static_cast<char>(random_());
    return result;
  }
  std::string cut(const std::string& text) { return text.substr(0, random_() % text.size()); }

  std::mt19937 random_{942};
  Recording recording_ = gfx942_recording();
};

// Small files, so that every byte can have its turn: one MQD, one slot of each kind, one run list.
Recording one_queue(const Recording& machine) {
  const auto part = [&](const char* name, std::string_view from, std::string_view to) {
    const std::string& text = machine.files.at(std::string("/copy/debugfs/") + name).value;
    const std::size_t begin = text.find(from);
    return text.substr(begin, text.find(to, begin + from.size()) - begin);
  };
  Recording recording;
  recording.add_file("/small/mqds", "Process 7301 PASID 0x8002:\n  Compute queue on device 6d31\n" +
                                        part("mqds", "    00000000: ", "    00000000: "));
  recording.add_file("/small/hqds", "Node 1, gpu_id 6d31:\n" +
                                        part("hqds", " Inst 0,  CP Pipe 0", " Inst 0,  CP") +
                                        part("hqds", "  SDMA Engine 0, RLC 0", "  SDMA"));
  recording.add_file("/small/rls", part("rls", "Node 1", "Node 2"));
  return recording;
}

TEST_F(Mutation, OfAnyByteOfAQueueGivesNoImpossibleQueue) {
  Recording small = one_queue(recording_);
  ReplayingOs os(small);
  const Paths paths{.sysfs = "", .debugfs = "/small", .proc = "", .live = false};
  for (auto& [path, file] : small.files) {
    for (std::size_t at = 0; at < file.value.size() && !HasFailure(); ++at) {
      const char before = file.value[at];
      for (const char after : {'0', 'f', ' ', '\n', '\xff'}) {
        SCOPED_TRACE(testing::Message() << path << ", byte " << at << ", " << int{after});
        file.value[at] = after;
        if (const auto snapshot = take_snapshot(os, paths, {}, {})) {
          expect_possible(*snapshot);
        }
      }
      file.value[at] = before;
    }
  }
}

TEST_F(Mutation, OfDebugfsGivesNoImpossibleQueue) {
  for (const char* name : {"mqds", "hqds", "rls"}) {
    std::string& file = recording_.files.at(std::string("/copy/debugfs/") + name).value;
    for (int i = 0; i < 250 && !HasFailure(); ++i) {
      SCOPED_TRACE(testing::Message() << name << ", try " << i);
      check(file, mutated(file), {});
      check(file, cut(file), {});
    }
  }
}

TEST_F(Mutation, OfSysfsAndProcGivesNoImpossibleQueue) {
  for (auto& [path, file] : recording_.files) {
    if (path.starts_with("/copy/debugfs/") || file.value.empty()) {
      continue;
    }
    for (int i = 0; i < 50 && !HasFailure(); ++i) {
      SCOPED_TRACE(testing::Message() << path << ", try " << i);
      check(file.value, mutated(file.value), {.debugfs = false, .occupancy = true});
      check(file.value, cut(file.value), {.debugfs = false, .occupancy = true});
    }
  }
}

}  // namespace
}  // namespace gp::discover
