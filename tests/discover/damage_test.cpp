// Damaged files: a reading is right or it is not there, whatever was cut off or overwritten.
#include <gtest/gtest.h>

#include <random>

#include "discover/machine_support.h"

namespace gp::discover {
namespace {

MadeMachine machine_to_damage() {
  MadeMachine machine;
  machine.gpus = 2;
  machine.xccs = 2;
  MadeProcess first{.pid = 30};
  first.queues = {{.queue_id = 0,
                   .gpu = 0,
                   .priority = 1,
                   .ring_bytes = 0x1000,
                   .saved_bytes = 0x20,
                   .created = 1},
                  {.queue_id = 1, .gpu = 0, .priority = 2, .created = 2},
                  {.queue_id = 2,
                   .gpu = 0,
                   .priority = 3,
                   .ring_base = 0x7f0000a00000,
                   .active = false,
                   .mapped = false,
                   .created = 3},
                  {.queue_id = 3, .gpu = 1, .type = QueueType::sdma, .created = 4}};
  MadeProcess second{.pid = 31};
  second.queues = {{.queue_id = 0,
                    .gpu = 1,
                    .priority = 15,
                    .ring_base = 0x7f0000b00000,
                    .read_index = 5,
                    .write_index = 6,
                    .created = 5}};
  machine.processes = {first, second};
  return machine;
}

template <class T>
void expect_same_or_unknown(const std::optional<T>& damaged, const std::optional<T>& whole,
                            const char* field) {
  if (damaged) {
    EXPECT_EQ(damaged, whole) << field;
  }
}

void expect_no_invention(const Queue& damaged, const Queue& whole) {
  EXPECT_EQ(damaged.gpu_id, whole.gpu_id);
  EXPECT_EQ(damaged.type, whole.type);
  expect_same_or_unknown(damaged.priority, whole.priority, "priority");
  expect_same_or_unknown(damaged.pipe_priority, whole.pipe_priority, "pipe_priority");
  expect_same_or_unknown(damaged.mapped, whole.mapped, "mapped");
  expect_same_or_unknown(damaged.active, whole.active, "active");
  expect_same_or_unknown(damaged.ring_base, whole.ring_base, "ring_base");
  expect_same_or_unknown(damaged.ring_bytes, whole.ring_bytes, "ring_bytes");
  expect_same_or_unknown(damaged.read_index, whole.read_index, "read_index");
  expect_same_or_unknown(damaged.write_index, whole.write_index, "write_index");
  expect_same_or_unknown(damaged.doorbell, whole.doorbell, "doorbell");
  expect_same_or_unknown(damaged.saved_bytes, whole.saved_bytes, "saved_bytes");
  expect_same_or_unknown(damaged.mqd_address, whole.mqd_address, "mqd_address");
}

void expect_no_invention(const Snapshot& damaged, const Snapshot& whole) {
  ASSERT_EQ(damaged.processes.size(), whole.processes.size());
  for (std::size_t p = 0; p < whole.processes.size(); ++p) {
    ASSERT_EQ(damaged.processes[p].queues.size(), whole.processes[p].queues.size());
    for (std::size_t q = 0; q < whole.processes[p].queues.size(); ++q) {
      expect_no_invention(damaged.processes[p].queues[q], whole.processes[p].queues[q]);
    }
  }
  for (std::size_t n = 0; n < whole.nodes.size(); ++n) {
    expect_same_or_unknown(damaged.nodes[n].hqds_active, whole.nodes[n].hqds_active, "hqds_active");
    expect_same_or_unknown(damaged.nodes[n].active_queues, whole.nodes[n].active_queues,
                           "active_queues");
  }
}

class Damage : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    recording_ = machine_to_damage().recording();
    whole_ = snapshot_of(recording_);
    path_ = std::string("/sys/kernel/debug/kfd/") + GetParam();
    original_ = recording_.files[path_].value;
    ASSERT_TRUE(whole_.warnings.empty());
    ASSERT_EQ(whole_.processes.at(0).queues.at(0).priority, 1u);
  }
  void check(std::string text) {
    recording_.files[path_].value = std::move(text);
    expect_no_invention(snapshot_of(recording_), whole_);
  }

  std::mt19937 random_{20260203};
  Recording recording_;
  Snapshot whole_;
  std::string path_, original_;
};

TEST_P(Damage, AFileThatIsCutInventsNothing) {
  for (int i = 0; i < 300 && !HasFailure(); ++i) {
    const std::size_t length = random_() % original_.size();
    SCOPED_TRACE(length);
    check(original_.substr(0, length));
  }
}

TEST_P(Damage, AFileThatIsCutBetweenLinesInventsNothing) {
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; (at = original_.find('\n', at)) != std::string::npos;) {
    ends.push_back(++at);
  }
  for (int i = 0; i < 300 && !HasFailure(); ++i) {
    const std::size_t length = ends[random_() % ends.size()];
    SCOPED_TRACE(length);
    check(original_.substr(0, length));
  }
}

// Digits that become other digits cannot be noticed; everything else must be.
TEST_P(Damage, BytesThatAreOverwrittenInventNothing) {
  constexpr char kNoise[] = "#\0 \n:zG\xff";
  for (int i = 0; i < 300 && !HasFailure(); ++i) {
    std::string text = original_;
    const std::size_t at = random_() % text.size();
    text[at] = kNoise[random_() % (sizeof kNoise - 1)];
    SCOPED_TRACE(testing::Message() << "byte " << at << " is " << static_cast<int>(text[at]));
    check(std::move(text));
  }
}

TEST_P(Damage, AnEmptyFileInventsNothing) { check(""); }

TEST_P(Damage, NoiseInventsNothing) {
  std::string noise(4096, '\0');
  for (char& c : noise) {
    c = static_cast<char>(random_());
  }
  check(noise);
}

INSTANTIATE_TEST_SUITE_P(Debugfs, Damage, testing::Values("mqds", "hqds", "rls"),
                         [](const auto& info) { return std::string(info.param); });

TEST(DamagedFiles, AreReportedOnce) {
  Recording recording = machine_to_damage().recording();
  std::string& hqds = recording.files["/sys/kernel/debug/kfd/hqds"].value;
  for (std::size_t at = 100; at < 3000; at += 300) {
    hqds[at] = '#';
  }
  const Snapshot snapshot = snapshot_of(recording);
  ASSERT_EQ(snapshot.warnings.size(), 1u);
  EXPECT_NE(snapshot.warnings[0].find("hqds"), std::string::npos);
}

}  // namespace
}  // namespace gp::discover
