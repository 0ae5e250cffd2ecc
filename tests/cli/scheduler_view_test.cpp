// What `gpreempt status` shows of the daemon's JSON.
#include "cli/scheduler_view.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace gp::cli {
namespace {

using nlohmann::json;

json one_job() {
  return {{"job", "resnet"},
          {"class", "offline"},
          {"state", "stopped"},
          {"mechanism", "self-debug"},
          {"level", 3},
          {"preemptions", 12},
          {"stopped_us_total", 2.5e6},
          {"last_stop_us", 1234.0},
          {"last_start_us", nullptr},
          {"pids", {17, 18}}};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(SchedulerView, AJobIsALine) {
  const std::string text =
      scheduler_text({{"daemon_pid", 9}, {"policy", "strict"}, {"jobs", json::array({one_job()})}});
  EXPECT_TRUE(has(text, "gpreemptd (pid 9), policy strict"));
  EXPECT_TRUE(has(text, "resnet  offline  stopped  self-debug (3)")) << text;
  EXPECT_TRUE(has(text, "17,18"));
  EXPECT_TRUE(has(text, "1.2")) << "milliseconds";
}

TEST(SchedulerView, ANodeNamesTheJobsThatRun) {
  json job = one_job();
  job["id"] = 3;
  const json node = {{"gpu_id", 9770}, {"hqds", 24}, {"compute_queues", 1}, {"running", {3, 4}}};
  const std::string text =
      scheduler_text({{"jobs", json::array({job})}, {"nodes", json::array({node})}});
  EXPECT_TRUE(has(text, "resnet, 4")) << text;
}

TEST(SchedulerView, NamesOnlineProcessesWhoseWorkNobodySeesAndWhy) {
  json job = one_job();
  job["processes"] = json::array(
      {{{"pid", 17}, {"work_unseen", true}, {"rings_not_read", "mqds: Permission denied"}},
       {{"pid", 18}, {"work_unseen", true}, {"rings_not_read", nullptr}},
       {{"pid", 19}, {"work_unseen", false}}});
  const std::string text = scheduler_text({{"jobs", json::array({job})}});
  EXPECT_TRUE(has(text,
                  "process 17: online, but nobody can tell when it has work: start it with "
                  "gpreempt run (mqds: Permission denied)\n"))
      << text;
  EXPECT_TRUE(has(text,
                  "process 18: online, but nobody can tell when it has work: start it with "
                  "gpreempt run\n"));
  EXPECT_FALSE(has(text, "process 19: online"));
}

TEST(SchedulerView, SaysHowLongStopsOutlastOnlineWorkAndWhy) {
  json job = one_job();
  job["job"] = "server";
  job["class"] = "online";
  job["linger"] = {
      {"linger_us", 12300.0}, {"by", "gaps"}, {"gap_us_p50", 8100.0}, {"gap_us_p90", 9000.0}};
  const std::string text = scheduler_text({{"jobs", json::array({job})}});
  EXPECT_TRUE(has(text,
                  "after server went idle, offline work stays stopped for 12.3 ms: learnt "
                  "from its gaps (p50 8.1 ms, p90 9.0 ms)"))
      << text;
}

TEST(SchedulerView, UnknownIsNotZero) {
  const std::string text = scheduler_text({{"jobs", json::array({one_job()})}});
  EXPECT_TRUE(has(text, "N/A")) << text;
}

TEST(SchedulerView, AMechanismThatFailedIsExplained) {
  json job = one_job();
  job["error"] = "cannot be stopped";
  job["processes"] = {{{"pid", 17}, {"not_better", "self-debug: no agent"}}};
  const std::string text = scheduler_text({{"jobs", json::array({job})}});
  EXPECT_TRUE(has(text, "job resnet: cannot be stopped")) << text;
  EXPECT_TRUE(has(text, "process 17: self-debug: no agent")) << text;
}

TEST(SchedulerView, ARefusedAgentIsExplained) {
  json job = one_job();
  job["processes"] = {{{"pid", 17}, {"agent", false}, {"agent_refused", "a table of version 9"}}};
  const std::string text = scheduler_text({{"jobs", json::array({job})}});
  EXPECT_TRUE(has(text, "process 17: agent refused: a table of version 9")) << text;
}

TEST(SchedulerView, NoJobsIsSaid) {
  EXPECT_TRUE(has(scheduler_text({{"jobs", json::array()}}), "No jobs."));
}

TEST(SchedulerView, AnythingIsSurvived) {
  for (const json& odd : {json(), json(7), json::array({1}), json{{"jobs", 3}},
                          json{{"jobs", json::array({7})}}, json{{"nodes", {{"gpu_id", 1}}}}}) {
    EXPECT_FALSE(scheduler_text(odd).empty());
  }
}

}  // namespace
}  // namespace gp::cli
