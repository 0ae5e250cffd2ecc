// Snapshots, searches and watches through the C API.
#include <poll.h>

#include <cerrno>
#include <cstring>

#include "lib_support.h"

namespace gp::lib {
namespace {

class Snapshots : public LibTest {
 protected:
  void take() { ASSERT_EQ(gpreempt_snapshot_take(context_, nullptr, &snapshot_), 0); }
  void TearDown() override {
    gpreempt_snapshot_free(snapshot_);
    LibTest::TearDown();
  }
  ssize_t count(const gpreempt_filter& filter) {
    return gpreempt_snapshot_find(snapshot_, &filter, nullptr, 0);
  }
  gpreempt_snapshot* snapshot_ = nullptr;
};

TEST_F(Snapshots, ShowNodesProcessesAndQueues) {
  const Variable tag("AMD_QUEUE_TAG", "training-7");
  Victim victim;
  take();
  ASSERT_EQ(gpreempt_snapshot_node_count(snapshot_), 1);
  auto node = sized<gpreempt_node>();
  ASSERT_EQ(gpreempt_snapshot_node(snapshot_, 0, &node), 0);
  EXPECT_STREQ(node.gfx, "gfx90a");
  EXPECT_NE(node.valid & GPREEMPT_NODE_CUS, 0u);
  ASSERT_EQ(gpreempt_snapshot_process_count(snapshot_), 1);
  auto process = sized<gpreempt_process>();
  ASSERT_EQ(gpreempt_snapshot_process(snapshot_, 0, &process), 0);
  EXPECT_EQ(process.pid, victim.pid());
  EXPECT_EQ(process.start_time, victim.key().start_time);
  EXPECT_STREQ(process.tag, "training-7");
  EXPECT_NE(std::strstr(process.command, "mechanism_victim"), nullptr);
  ASSERT_EQ(gpreempt_snapshot_queue_count(snapshot_), ssize_t{process.queues});
  auto queue = sized<gpreempt_queue>();
  ASSERT_EQ(gpreempt_snapshot_queue(snapshot_, 0, &queue), 0);
  EXPECT_EQ(queue.pid, victim.pid());
  EXPECT_EQ(queue.gpu_id, node.gpu_id);
  EXPECT_EQ(queue.type, GPREEMPT_QUEUE_COMPUTE);
  EXPECT_NE(queue.valid & GPREEMPT_QUEUE_ID, 0u);
  EXPECT_EQ(gpreempt_snapshot_queue(snapshot_, 1000, &queue), -ENOENT);
  EXPECT_EQ(gpreempt_snapshot_warning(snapshot_, 1000), nullptr);
}

TEST_F(Snapshots, WithoutDebugfsWhatItWouldTellIsUnknown) {
  Victim victim;
  auto options = sized<gpreempt_snapshot_options>();
  options.without_debugfs = 1;
  ASSERT_EQ(gpreempt_snapshot_take(context_, &options, &snapshot_), 0);
  auto queue = sized<gpreempt_queue>();
  ASSERT_EQ(gpreempt_snapshot_queue(snapshot_, 0, &queue), 0);
  EXPECT_EQ(queue.valid & (GPREEMPT_QUEUE_PRIORITY | GPREEMPT_QUEUE_ACTIVE), 0u);
}

TEST_F(Snapshots, FindByTagProcessClassPriorityAndRing) {
  std::unique_ptr<Victim> tagged;
  {
    const Variable tag("AMD_QUEUE_TAG", "llm"), priority("AMD_QUEUE_PRIORITY", "12");
    tagged = std::make_unique<Victim>();
  }
  Victim plain;
  take();
  const ssize_t all = gpreempt_snapshot_queue_count(snapshot_);
  EXPECT_EQ(gpreempt_snapshot_find(snapshot_, nullptr, nullptr, 0), all);
  auto filter = sized<gpreempt_filter>();
  filter.match = GPREEMPT_MATCH_PID;
  filter.pid = plain.pid();
  const ssize_t of_plain = count(filter);
  EXPECT_GT(of_plain, 0);
  filter.match = GPREEMPT_MATCH_TAG;
  filter.tag = "llm";
  EXPECT_EQ(count(filter), all - of_plain);
  filter.match = GPREEMPT_MATCH_CLASS;
  filter.work_class = GPREEMPT_CLASS_ONLINE;
  EXPECT_EQ(count(filter), all - of_plain);
  filter.match |= GPREEMPT_MATCH_PID;
  EXPECT_EQ(count(filter), 0);
  filter.match = GPREEMPT_MATCH_PRIORITY;
  filter.priority_lowest = filter.priority_highest = 7;
  EXPECT_GT(count(filter), 0);
  filter.match = GPREEMPT_MATCH_RING;
  filter.ring_first = 0;
  filter.ring_end = UINT64_MAX;
  EXPECT_GT(count(filter), 0);
  std::vector<std::size_t> indices(1);
  EXPECT_EQ(gpreempt_snapshot_find(snapshot_, nullptr, indices.data(), 1), all);
  EXPECT_EQ(indices[0], 0u);
  filter.match = 1u << 30;
  EXPECT_EQ(count(filter), -EINVAL);
}

TEST_F(Snapshots, AWatchTellsOfQueuesThatComeAndGo) {
  gpreempt_watch* watch = nullptr;
  ASSERT_EQ(gpreempt_watch_open(context_, &watch), 0) << gpreempt_error_text();
  auto event = sized<gpreempt_event>();
  const auto next = [&] {
    int result = 0;
    while ((result = gpreempt_watch_next(watch, &event)) == 0) {
      pollfd ready = {gpreempt_watch_fd(watch), POLLIN, 0};
      if (::poll(&ready, 1, 30'000) != 1) {
        return -ETIMEDOUT;
      }
    }
    return result;
  };
  auto victim = std::make_unique<Victim>();
  ASSERT_EQ(next(), 1);
  EXPECT_EQ(event.appeared, 1u);
  EXPECT_EQ(event.pid, victim->pid());
  EXPECT_EQ(event.start_time, victim->key().start_time);
  victim.reset();
  do {
    ASSERT_EQ(next(), 1);
  } while (event.appeared != 0);
  gpreempt_watch_close(watch);
}

TEST(Handles, NullAndUnknownSizesAreRefused) {
  EXPECT_EQ(gpreempt_open(nullptr, nullptr), -EINVAL);
  gpreempt_context* context = nullptr;
  gpreempt_open_options options{};
  EXPECT_EQ(gpreempt_open(&options, &context), -EINVAL);  // size is not set
  options.size = sizeof options;
  options.online_from = 16;
  EXPECT_EQ(gpreempt_open(&options, &context), -EINVAL);
  struct {
    gpreempt_open_options known;
    u64 unknown;
  } newer{};
  newer.known.size = sizeof newer;
  ASSERT_EQ(gpreempt_open(&newer.known, &context), 0) << "an unknown tail of zeros is fine";
  gpreempt_close(context);
  newer.unknown = 1;
  EXPECT_EQ(gpreempt_open(&newer.known, &context), -E2BIG);
  EXPECT_STRNE(gpreempt_error_text(), "");
  EXPECT_EQ(gpreempt_snapshot_take(nullptr, nullptr, nullptr), -EINVAL);
  EXPECT_EQ(gpreempt_snapshot_queue_count(nullptr), -EINVAL);
  EXPECT_EQ(gpreempt_watch_fd(nullptr), -EINVAL);
  EXPECT_EQ(gpreempt_lease_state(nullptr), -EINVAL);
  EXPECT_EQ(gpreempt_lease_end(nullptr), -EINVAL);
  EXPECT_EQ(gpreempt_lease_fd(nullptr), -EINVAL);
  gpreempt_close(nullptr);
  gpreempt_snapshot_free(nullptr);
  gpreempt_watch_close(nullptr);
  gpreempt_lease_free(nullptr);
}

TEST(Handles, AnOlderProgramsShorterStructureIsNotOverrun) {
  struct {
    std::size_t size;
    const char* name;
    const char* canary;
  } shorter{2 * sizeof(std::size_t), nullptr, "untouched"};
  auto* info = reinterpret_cast<gpreempt_mechanism_info*>(&shorter);
  ASSERT_EQ(gpreempt_mechanism(0, info), 0);
  EXPECT_NE(shorter.name, nullptr);
  EXPECT_STREQ(shorter.canary, "untouched");
}

TEST(Handles, EveryMechanismIsNamedAndExplained) {
  auto info = sized<gpreempt_mechanism_info>();
  for (ssize_t i = 0; i < gpreempt_mechanism_count(); ++i) {
    ASSERT_EQ(gpreempt_mechanism(static_cast<std::size_t>(i), &info), 0);
    EXPECT_STRNE(info.name, "");
    EXPECT_STRNE(info.needs, "");
  }
  EXPECT_EQ(gpreempt_mechanism(1000, &info), -ENOENT);
}

TEST(Handles, TheVersionIsThatOfTheHeader) {
  EXPECT_EQ(gpreempt_version(), uint32_t{GPREEMPT_VERSION});
  EXPECT_STREQ(gpreempt_version_text(), "0.1.0");
}

}  // namespace
}  // namespace gp::lib
