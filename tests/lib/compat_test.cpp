// The early API on running HIP programs. What is not named for one of the drivers is true of both:
// the tests run on the stock driver and on one with gpreempt's patches.
#include <algorithm>
#include <cerrno>

#include "gpreempt_poc_v2.h"
#include "lib_support.h"

namespace gp::lib {
namespace {

using mechanism::all_run_again;
using mechanism::queue_states;

std::vector<queue_info_t> take(queue_info_t* queues, uint32_t count) {
  std::vector<queue_info_t> list(queues, queues + count);
  gpreempt_free_queue_info(queues);
  return list;
}

std::vector<queue_info_t> queues_of(pid_t pid) {
  queue_info_t* queues = nullptr;
  uint32_t count = 0;
  EXPECT_EQ(gpreempt_find_queues_by_process(pid, &queues, &count), 0);
  return take(queues, count);
}

// How queues are stopped here: tests/lib/CMakeLists.txt says it with the device.
std::string expected_mechanism() {
  const char* name = std::getenv("GPREEMPT_EXPECTED_MECHANISM");
  return name != nullptr ? name : "debugger";
}

bool is_stopped(pid_t pid, u32 queue_id) {
  const std::string state = queue_states(pid)[queue_id];
  return state != "mapped" && state != "waiting";
}

class EarlyApi : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("GPREEMPT_POC_QUIET", "1", 1);
    ASSERT_EQ(gpreempt_poc_init(), 0) << gpreempt_poc_last_error();
  }
  void TearDown() override { gpreempt_poc_cleanup(); }
};

TEST_F(EarlyApi, AProgramInCSuspendsAndResumes) {
  Victim victim;
  mechanism::Child early({mechanism::program("poc_program"), std::to_string(victim.pid())});
  EXPECT_EQ(early.line(), expected_mechanism());
  EXPECT_TRUE(victim.stands_still());
  early.say("go on");
  EXPECT_EQ(early.line(), "resumed");
  EXPECT_EQ(early.wait(), 0);
  EXPECT_TRUE(victim.makes_progress());
}

TEST_F(EarlyApi, WhatAProgramSuspendedRunsAgainWhenItIsKilled) {
  Victim victim;
  mechanism::Child early({mechanism::program("poc_program"), std::to_string(victim.pid())});
  EXPECT_EQ(early.line(), expected_mechanism());
  early.signal(SIGKILL);
  EXPECT_TRUE(victim.makes_progress());
}

TEST_F(EarlyApi, QueuesAreShownWithTheirProcess) {
  const Variable tag("AMD_QUEUE_TAG", "early");
  Victim victim;
  queue_info_t* queues = nullptr;
  uint32_t count = 0;
  ASSERT_EQ(gpreempt_get_all_queues(&queues, &count), 0);
  const auto all = take(queues, count);
  ASSERT_EQ(all.size(), queue_states(victim.pid()).size());
  EXPECT_EQ(all[0].process_id, victim.pid());
  EXPECT_STREQ(all[0].tag, "early");
  EXPECT_TRUE(all[0].is_active);
  ASSERT_EQ(gpreempt_find_queues_by_priority(7, 7, &queues, &count), 0);
  EXPECT_FALSE(take(queues, count).empty());
  ASSERT_EQ(gpreempt_find_queues_by_priority(0, 1, &queues, &count), 0);
  EXPECT_TRUE(take(queues, count).empty());
}

TEST_F(EarlyApi, AnIdOfTwoProcessesNamesBothUntilOneIsChosen) {
  Victim first, second;
  queue_info_t* queues = nullptr;
  uint32_t count = 0, id = 0;
  ASSERT_EQ(gpreempt_get_all_queues(&queues, &count), 0);
  gpreempt_free_queue_info(queues);
  EXPECT_EQ(gpreempt_suspend_queues(&id, 1, 0), -1);
  EXPECT_EQ(errno, EINVAL);
  const std::string text = gpreempt_poc_last_error();
  EXPECT_NE(text.find(std::to_string(first.pid())), std::string::npos) << text;
  EXPECT_NE(text.find(std::to_string(second.pid())), std::string::npos) << text;

  ASSERT_EQ(gpreempt_poc_set_target(second.pid()), 0) << gpreempt_poc_last_error();
  ASSERT_EQ(gpreempt_suspend_queues(&id, 1, 0), 0) << gpreempt_poc_last_error();
  EXPECT_TRUE(is_stopped(second.pid(), 0));
  EXPECT_FALSE(mechanism::any_stopped(first.pid()));
  ASSERT_EQ(gpreempt_resume_queues(&id, 1), 0);
  EXPECT_TRUE(all_run_again(second.pid()));

  ASSERT_EQ(gpreempt_poc_set_target(0), 0);
  queues_of(first.pid());  // now the id means the first's
  ASSERT_EQ(gpreempt_suspend_queues(&id, 1, 0), 0) << gpreempt_poc_last_error();
  EXPECT_TRUE(is_stopped(first.pid(), 0));
}

TEST_F(EarlyApi, SomeOfTheQueuesCanBeResumedBeforeTheOthers) {
  Victim victim({"--queues", "1"});
  std::vector<uint32_t> ids;
  for (const queue_info_t& queue : queues_of(victim.pid())) {
    ids.push_back(queue.queue_id);
  }
  const auto count = static_cast<uint32_t>(ids.size());
  ASSERT_EQ(gpreempt_suspend_queues(ids.data(), count, 0), 0) << gpreempt_poc_last_error();
  ASSERT_EQ(gpreempt_suspend_queues(ids.data(), count, 0), 0) << "twice is no error";
  ASSERT_EQ(gpreempt_resume_queues(ids.data(), 1), 0) << gpreempt_poc_last_error();
  for (const uint32_t id : ids) {
    EXPECT_EQ(is_stopped(victim.pid(), id), id != ids[0]) << id;
  }
  ASSERT_EQ(gpreempt_resume_queues(ids.data(), count), 0);
  EXPECT_TRUE(all_run_again(victim.pid()));
}

TEST_F(EarlyApi, CleaningUpResumes) {
  Victim victim;
  uint32_t id = queues_of(victim.pid()).at(0).queue_id;
  ASSERT_EQ(gpreempt_suspend_queues(&id, 1, 0), 0);
  gpreempt_poc_cleanup();
  EXPECT_TRUE(all_run_again(victim.pid()));
  EXPECT_EQ(gpreempt_suspend_queues(&id, 1, 0), -1);
  EXPECT_EQ(errno, ENODEV);
}

TEST_F(EarlyApi, WrongArgumentsAreRefused) {
  Victim victim;
  const uint32_t id = queues_of(victim.pid()).at(0).queue_id;
  const auto refused = [](std::vector<uint32_t> ids) {
    errno = 0;
    const int result = gpreempt_suspend_queues(ids.data(), static_cast<uint32_t>(ids.size()), 0);
    return result == -1 ? errno : 0;
  };
  EXPECT_EQ(refused({}), EINVAL);
  EXPECT_EQ(refused({id, id}), EINVAL);
  EXPECT_EQ(refused(std::vector<uint32_t>(1025, id)), EINVAL);
  EXPECT_EQ(refused({77777}), ENOENT);
  EXPECT_EQ(gpreempt_poc_set_target(1), -1);
  EXPECT_EQ(errno, ESRCH);
  EXPECT_EQ(gpreempt_get_all_queues(nullptr, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
  for (const uint32_t grace : {256u, 1000u, UINT32_MAX}) {
    uint32_t one = id;
    EXPECT_EQ(gpreempt_suspend_queues(&one, 1, grace), 0) << grace;
    EXPECT_EQ(gpreempt_resume_queues(&one, 1), 0);
  }
  EXPECT_TRUE(victim.makes_progress());
}

TEST_F(EarlyApi, SlotsAreCounted) {
  Victim victim;
  gpreempt_hqd_status_t status{};
  ASSERT_EQ(gpreempt_get_hqd_status(&status), 0);
  EXPECT_EQ(status.total, 24u);
  EXPECT_EQ(status.active + status.free, status.total);
  EXPECT_GT(status.active, 0u);
  EXPECT_EQ(status.online_reserved, 0u);
}

TEST_F(EarlyApi, SharesOfMoreThanAllSlotsAreRefused) {
  EXPECT_EQ(gpreempt_set_hqd_reservation(0, 60, 60), -1);
  EXPECT_EQ(errno, EINVAL);
}

// What poc_program says on standard error comes first: it has stopped the queues then.
std::vector<std::string> first_lines_of_a_loud_program(pid_t pid, int count) {
  const Variable loud("GPREEMPT_POC_QUIET", "0");
  mechanism::Child early({"/bin/sh", "-c", "exec \"$0\" \"$1\" 2>&1",
                          mechanism::program("poc_program"), std::to_string(pid)});
  std::vector<std::string> lines;
  for (int i = 0; i < count; ++i) {
    lines.push_back(early.line());
  }
  early.say("go on");
  EXPECT_EQ(early.line(), "resumed");
  EXPECT_EQ(early.wait(), 0);
  return lines;
}

using EarlyApiOnStockDriver = EarlyApi;
using EarlyApiOnPatchedDriver = EarlyApi;

TEST_F(EarlyApiOnStockDriver, SaysByWhatQueuesAreStoppedInsteadOfABatchUnmap) {
  Victim victim;
  const auto lines = first_lines_of_a_loud_program(victim.pid(), 2);
  EXPECT_NE(lines[0].find("batch unmap was not used; queues are stopped with debugger"),
            std::string::npos)
      << lines[0];
  EXPECT_EQ(lines[1], "debugger");
}

TEST_F(EarlyApiOnPatchedDriver, HasNothingToSayAboutABatchUnmap) {
  Victim victim;
  EXPECT_EQ(first_lines_of_a_loud_program(victim.pid(), 1)[0], "kernel");
}

TEST_F(EarlyApiOnPatchedDriver, UnmapsAllQueuesOfACallAtOnce) {
  Victim victim({"--queues", "3"});
  std::vector<uint32_t> ids;
  for (const queue_info_t& queue : queues_of(victim.pid())) {
    ids.push_back(queue.queue_id);
  }
  ASSERT_GT(ids.size(), 2u);
  const auto count = static_cast<uint32_t>(ids.size());
  const unsigned long before = mechanism::unmaps();
  ASSERT_EQ(gpreempt_batch_unmap_queues(ids.data(), count, 0), 0) << gpreempt_poc_last_error();
  EXPECT_EQ(mechanism::unmaps(), before + 1);
  EXPECT_TRUE(mechanism::all_stopped(victim.pid()));
  ASSERT_EQ(gpreempt_fast_remap_queues(ids.data(), count), 0) << gpreempt_poc_last_error();
  EXPECT_TRUE(all_run_again(victim.pid()));
}

TEST_F(EarlyApiOnStockDriver, SlotsCannotBeReserved) {
  EXPECT_EQ(gpreempt_set_hqd_reservation(0, 10, 80), -1);
  EXPECT_EQ(errno, ENOTSUP);
}

TEST_F(LibTest, SlotsOfADriverWithoutThePatchesAreNotKnown) {
  auto slots = sized<gpreempt_slots>();
  EXPECT_EQ(gpreempt_slots_of(context_, mechanism::first_gpu_id(), &slots), -ENOTSUP);
  EXPECT_EQ(gpreempt_slots_of(nullptr, mechanism::first_gpu_id(), &slots), -EINVAL);
}

TEST_F(EarlyApiOnPatchedDriver, SlotsAreToldToProgramsOfTheNewApiToo) {
  gpreempt_context* context = nullptr;
  ASSERT_EQ(gpreempt_open(nullptr, &context), 0);
  auto slots = sized<gpreempt_slots>();
  EXPECT_EQ(gpreempt_slots_of(context, 1, &slots), -ENODEV) << "no such GPU";
  ASSERT_EQ(gpreempt_reserve_slots(context, 0, 3), 0) << gpreempt_error_text();
  ASSERT_EQ(gpreempt_slots_of(context, mechanism::first_gpu_id(), &slots), 0);
  EXPECT_EQ(slots.slots, 24u);
  EXPECT_EQ(slots.reserved, 3u);
  slots.size = 1;
  EXPECT_EQ(gpreempt_slots_of(context, mechanism::first_gpu_id(), &slots), -EINVAL);
  gpreempt_close(context);
}

TEST_F(EarlyApiOnPatchedDriver, ReservedSlotsAreReported) {
  gpreempt_hqd_status_t status{};
  ASSERT_EQ(gpreempt_set_hqd_reservation(0, 10, 80), 0) << gpreempt_error_text();
  ASSERT_EQ(gpreempt_get_hqd_status(&status), 0);
  EXPECT_EQ(status.online_reserved, 5u);
  ASSERT_EQ(gpreempt_set_hqd_reservation(0, 0, 100), 0) << gpreempt_error_text();
  ASSERT_EQ(gpreempt_get_hqd_status(&status), 0);
  EXPECT_EQ(status.online_reserved, 0u);
}

}  // namespace
}  // namespace gp::lib
