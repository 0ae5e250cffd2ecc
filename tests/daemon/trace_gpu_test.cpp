// `gpreempt trace` of a preemption: the events, the file for Perfetto, and the report's timeline.
#include <algorithm>
#include <filesystem>

#include "daemon/daemon_support.h"
#include "libc/clock.h"
#include "report/report.h"
#include "report/trace.h"

namespace gp::daemon {
namespace {

class GpuTrace : public DaemonTest {
 protected:
  // Online work stops offline work once, and is over.
  void preempt_once() {
    start_daemon();
    training = offline({{"GPREEMPT_JOB", "training"}});
    server = online();
    ASSERT_EQ(training->ask("launch"), "ok");
    ASSERT_TRUE(runs(*training));
    ASSERT_EQ(server->ask("launch"), "ok");
    ASSERT_TRUE(has_state(training->pid(), "stopped"));
    ASSERT_EQ(server->ask("finish"), "ok");
    ASSERT_TRUE(has_state(training->pid(), "running"));
  }
  int gpreempt_trace(const Words& options) {
    Words words = {std::string(GPREEMPT_BIN_DIR) + "/gpreempt", "trace", "--socket", socket()};
    words.insert(words.end(), options.begin(), options.end());
    Program program(words, {}, directory() + "/trace.err");
    said = program.line();
    return program.wait();
  }
  std::unique_ptr<Program> training, server;
  std::string said;  // the first line
};

TEST_F(GpuTrace, TellsWhoMadeRoomForWhomAndInWhichOrder) {
  preempt_once();
  const std::string path = directory() + "/trace.json";
  ASSERT_EQ(gpreempt_trace({"--json", "--output", path}), 0);
  const auto trace = nlohmann::json::parse(*read_file(path));
  EXPECT_EQ(trace["schema_version"], 1);
  const auto& events = trace["events"];
  const auto place_of = [&](const char* event, const char* work_class) {
    return std::find_if(events.begin(), events.end(),
                        [&](const auto& each) {
                          return each["event"] == event && each["class"] == work_class;
                        }) -
           events.begin();
  };
  EXPECT_LT(place_of("busy", "online"), place_of("stop_decided", "offline"));
  EXPECT_LT(place_of("stop_decided", "offline"), place_of("process_stopped", "offline"));
  EXPECT_LT(place_of("process_stopped", "offline"), place_of("process_started", "offline"));
  const auto stopped = place_of("process_stopped", "offline");
  ASSERT_LT(stopped, static_cast<std::ptrdiff_t>(events.size()));
  const auto& event = events[static_cast<std::size_t>(stopped)];
  EXPECT_EQ(event["pid"], training->pid());
  EXPECT_EQ(event["job_name"], "training");
  EXPECT_GT(event["value"], 0);
}

TEST_F(GpuTrace, WritesAFileForPerfettoAndSaysWhatIsInIt) {
  preempt_once();
  const std::string path = directory() + "/trace.pftrace";
  ASSERT_EQ(gpreempt_trace({"--output", path}), 0);
  EXPECT_TRUE(said.starts_with(path + ": ")) << said;
  EXPECT_NE(said.find("preemption"), std::string::npos) << said;
  const std::string file = *read_file(path);
  EXPECT_NE(file.find("offline: training"), std::string::npos);
  EXPECT_NE(file.find("stopped"), std::string::npos);
}

TEST_F(GpuTrace, GivesTheReportItsTimeline) {
  const u64 start = monotonic_ns();
  preempt_once();
  auto client = wire::Client::connect(socket());
  ASSERT_TRUE(client);
  const auto trace = client->text(wire::Kind::trace);
  ASSERT_TRUE(trace);
  const auto timeline = report::timeline_of(*trace, start, monotonic_ns());
  ASSERT_TRUE(timeline) << timeline.error().message();
  const auto has = [&](const char* track, const char* what) {
    return std::any_of(timeline->begin(), timeline->end(), [&](const report::Span& span) {
      return span.track == track && span.what == what && span.end_us > span.start_us;
    });
  };
  EXPECT_TRUE(has("online", "running"));
  EXPECT_TRUE(has("offline", "stopped"));
  EXPECT_TRUE(has("scheduler", "stop"));
  EXPECT_TRUE(has("scheduler", "start"));
}

}  // namespace
}  // namespace gp::daemon
