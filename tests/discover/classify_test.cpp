// Who is online, who is offline, and why.
#include "discover/classify.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cerrno>

namespace gp::discover {
namespace {

using namespace std::string_view_literals;

struct Verdict {
  WorkClass work_class;
  ClassSource source;
  bool operator==(const Verdict&) const = default;
};

Queue make_queue(QueueType type, std::optional<u32> priority) {
  Queue queue;
  queue.type = type;
  queue.priority = priority;
  queue.ring_bytes = 4096;
  return queue;
}

Process with_priorities(std::initializer_list<u32> priorities) {
  Process process;
  for (const u32 priority : priorities) {
    process.queues.push_back(make_queue(QueueType::compute, priority));
  }
  return process;
}

Verdict classify_it(Process process, std::optional<std::string_view> environ = {},
                    const ClassConfig& config = {}, std::string_view cgroup = {}) {
  std::vector<std::string> warnings;
  classify(process, config, environ, cgroup, warnings);
  return {process.work_class, process.class_source};
}

TEST(Classify, PrioritiesOfComputeQueuesDecideIfNothingElseDoes) {
  const auto by_number = ClassSource::queue_priority;
  EXPECT_EQ(classify_it(with_priorities({11, 15})), (Verdict{WorkClass::online, by_number}));
  EXPECT_EQ(classify_it(with_priorities({10})), (Verdict{WorkClass::online, by_number}));
  EXPECT_EQ(classify_it(with_priorities({0, 5})), (Verdict{WorkClass::offline, by_number}));
  EXPECT_EQ(classify_it(with_priorities({6, 9, 7})), (Verdict{WorkClass::normal, by_number}));
}

TEST(Classify, QueuesThatDisagreeMakeAProcessNormal) {
  EXPECT_EQ(classify_it(with_priorities({0, 15})).work_class, WorkClass::normal);
  EXPECT_EQ(classify_it(with_priorities({7, 15})).work_class, WorkClass::normal);
}

TEST(Classify, SdmaQueuesDoNotCount) {
  Process process = with_priorities({0});
  process.queues.push_back(make_queue(QueueType::sdma, 15));
  EXPECT_EQ(classify_it(process).work_class, WorkClass::offline);
}

TEST(Classify, APriorityThatIsNotKnownDecidesNothing) {
  Process process = with_priorities({15});
  process.queues.push_back(make_queue(QueueType::compute, {}));
  EXPECT_EQ(classify_it(process), (Verdict{WorkClass::normal, ClassSource::none}));
}

TEST(Classify, ReadingsCountEvenIfItIsNotKnownWhichQueueTheyAreOf) {
  Process process;
  process.queues.resize(2, make_queue(QueueType::compute, {}));
  process.unassigned = {make_queue(QueueType::compute, 15), make_queue(QueueType::compute, 11)};
  EXPECT_EQ(classify_it(process), (Verdict{WorkClass::online, ClassSource::queue_priority}));
}

TEST(Classify, ATagBeatsTheNumber) {
  const Process process = with_priorities({15});
  const auto environment = ClassSource::environment;
  EXPECT_EQ(classify_it(process, "AMD_QUEUE_TAG=offline\0AMD_QUEUE_PRIORITY=15\0"sv),
            (Verdict{WorkClass::offline, environment}));
  EXPECT_EQ(classify_it(process, "AMD_QUEUE_TAG=Offline-training\0"sv),
            (Verdict{WorkClass::offline, environment}));
  EXPECT_EQ(classify_it(process, "AMD_QUEUE_PRIORITY=3\0"sv),
            (Verdict{WorkClass::offline, environment}));
  EXPECT_EQ(classify_it(process, "AMD_QUEUE_PRIORITY=8\0"sv),
            (Verdict{WorkClass::normal, environment}));
}

TEST(Classify, ATagThatNamesNoClassSaysNothing) {
  EXPECT_FALSE(class_of_tag("onlineish"));
  EXPECT_FALSE(class_of_tag("my-online"));
  EXPECT_FALSE(class_of_tag(""));
  EXPECT_EQ(class_of_tag("ONLINE"), WorkClass::online);
  EXPECT_EQ(class_of_tag("online:chat"), WorkClass::online);
  EXPECT_EQ(classify_it(with_priorities({0}), "AMD_QUEUE_TAG=llm\0"sv).work_class,
            WorkClass::offline);
}

TEST(Classify, TheRunCommandBeatsTheTag) {
  EXPECT_EQ(classify_it(with_priorities({0}), "AMD_QUEUE_TAG=offline\0GPREEMPT_CLASS=online\0"sv),
            (Verdict{WorkClass::online, ClassSource::run_command}));
}

TEST(Classify, TheFirstRuleThatMatchesDecides) {
  ClassConfig config;
  config.rules = {
      {.uid = 7, .cgroup = "", .command = "", .work_class = WorkClass::online},
      {.uid = {}, .cgroup = "batch.slice", .command = "train", .work_class = WorkClass::offline},
      {.uid = {}, .cgroup = "", .command = "train", .work_class = WorkClass::online}};
  Process process = with_priorities({15});
  process.uid = 1000;
  process.command = "python train.py";
  EXPECT_EQ(classify_it(process, {}, config, "0::/batch.slice/x\n"),
            (Verdict{WorkClass::offline, ClassSource::config_rule}));
  EXPECT_EQ(classify_it(process, {}, config, "0::/user.slice\n"),
            (Verdict{WorkClass::online, ClassSource::config_rule}));
  process.uid.reset();
  process.command.clear();
  EXPECT_EQ(classify_it(process, {}, config).source, ClassSource::queue_priority)
      << "who may not be read matches no rule about it";
}

TEST(Classify, WhatIsSetAndNotUnderstoodIsReported) {
  Process process = with_priorities({0});
  process.key.pid = 12;
  std::vector<std::string> warnings;
  classify(process, {}, "AMD_QUEUE_PRIORITY=99\0GPREEMPT_CLASS=urgent\0"sv, "", warnings);
  EXPECT_EQ(process.work_class, WorkClass::offline) << "by its queue";
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_NE(warnings[0].find("GPREEMPT_CLASS=urgent of process 12"), std::string::npos);
  EXPECT_NE(warnings[1].find("AMD_QUEUE_PRIORITY=99"), std::string::npos);
}

class Thresholds : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    ::unsetenv("GPREEMPT_ONLINE_PRIORITY");
    ::unsetenv("GPREEMPT_OFFLINE_PRIORITY");
  }
};

TEST_F(Thresholds, ComeFromTheEnvironment) {
  ::setenv("GPREEMPT_ONLINE_PRIORITY", "8", 1);
  ::setenv("GPREEMPT_OFFLINE_PRIORITY", "7", 1);
  const auto config = class_config_from_environment();
  ASSERT_TRUE(config);
  EXPECT_EQ(class_of_priority(*config, 8), WorkClass::online);
  EXPECT_EQ(class_of_priority(*config, 7), WorkClass::offline);
}

TEST_F(Thresholds, HaveDefaults) {
  const auto config = class_config_from_environment();
  ASSERT_TRUE(config);
  EXPECT_EQ(config->online_from, 10u);
  EXPECT_EQ(config->offline_to, 5u);
}

TEST_F(Thresholds, ThatMakeNoSenseAreRefused) {
  for (const char* text : {"16", "-1", "high", "9x"}) {
    ::setenv("GPREEMPT_ONLINE_PRIORITY", text, 1);
    const auto config = class_config_from_environment();
    ASSERT_FALSE(config) << text;
    EXPECT_EQ(config.error().code, EINVAL);
    EXPECT_NE(config.error().message().find("GPREEMPT_ONLINE_PRIORITY"), std::string::npos);
  }
  ::setenv("GPREEMPT_ONLINE_PRIORITY", "5", 1);
  EXPECT_FALSE(class_config_from_environment()) << "5 would be both";
}

}  // namespace
}  // namespace gp::discover
