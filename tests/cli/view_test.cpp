// How snapshots look to people and to programs.
#include "cli/queue_view.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text_table.h"

namespace gp::cli {
namespace {

using discover::Filter;
using discover::Process;
using discover::Queue;
using discover::Snapshot;

Snapshot two_processes() {
  Snapshot snapshot;
  discover::Node node;
  node.gpu_id = 9770;
  node.gfx_target_version = 90402;
  node.cus = 80;
  snapshot.nodes = {node};
  Process training;
  training.key = {1234, 5678};
  training.command = "python train.py " + std::string(200, 'x');
  training.tag = "llm";
  training.work_class = WorkClass::offline;
  Queue known;
  known.queue_id = 0;
  known.gpu_id = 9770;
  known.type = discover::QueueType::compute;
  known.priority = 7;
  known.mapped = true;
  known.active = false;
  known.ring_base = 0x7f0000000000;
  known.read_index = 0;
  training.queues = {known};
  Process stranger;
  stranger.key = {99, 0};
  stranger.queues = {Queue{}};
  snapshot.processes = {stranger, training};
  return snapshot;
}

TEST(QueueJson, UnknownIsNullAndZeroIsZero) {
  const auto json = queue_json(two_processes(), {});
  EXPECT_EQ(json["schema_version"], 1);
  ASSERT_EQ(json["queues"].size(), 2u);
  const auto& unknown = json["queues"][0];
  for (const char* key : {"start_time", "queue_id", "gpu_id", "type", "priority", "mapped",
                          "active", "ring_base", "read_index", "write_index", "tag", "command"}) {
    ASSERT_TRUE(unknown.contains(key)) << key;
    EXPECT_TRUE(unknown[key].is_null()) << key;
  }
  const auto& known = json["queues"][1];
  EXPECT_EQ(known["pid"], 1234);
  EXPECT_EQ(known["start_time"], 5678);
  EXPECT_EQ(known["queue_id"], 0);
  EXPECT_EQ(known["type"], "compute");
  EXPECT_EQ(known["class"], "offline");
  EXPECT_EQ(known["mapped"], true);
  EXPECT_EQ(known["active"], false);
  EXPECT_EQ(known["ring_base"], 0x7f0000000000);
  EXPECT_EQ(known["read_index"], 0);
  EXPECT_EQ(known["tag"], "llm");
  const auto& node = json["nodes"][0];
  EXPECT_EQ(node["gfx"], "gfx942");
  EXPECT_EQ(node["cus"], 80);
  for (const char* key : {"xccs", "hqds", "hqds_active"}) {
    EXPECT_TRUE(node[key].is_null()) << key;
  }
}

TEST(QueueTables, FitAHundredColumnsAndSayNotAvailable) {
  std::istringstream lines(queue_tables(two_processes(), {}));
  std::string all;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), kTableWidth) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
    all += line + "\n";
  }
  EXPECT_NE(all.find("N/A"), std::string::npos);
  EXPECT_NE(all.find("gfx942"), std::string::npos);
  EXPECT_NE(all.find("python train.py"), std::string::npos);
}

TEST(QueueTables, ShowOnlyWhatWasAskedFor) {
  Filter filter;
  filter.pid = 99;
  EXPECT_EQ(queue_json(two_processes(), filter)["queues"].size(), 1u);
  filter.pid = 1;
  EXPECT_NE(queue_tables(two_processes(), filter).find("No queues."), std::string::npos);
}

}  // namespace
}  // namespace gp::cli
