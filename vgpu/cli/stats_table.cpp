#include "cli/stats_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/units.h"

namespace vgpu::cli {
namespace {

using nlohmann::json;
using Row = std::vector<std::string>;

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string size_of(const json& value) { return gp::format_size(value.get<gp::u64>()); }

// Columns as wide as their widest cell, numbers to the right.
std::string layout(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows[0].size(), 0);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += fmt::format("{}{:>{}}", i == 0 ? "" : "  ", row[i], widths[i]);
    }
    text += "\n";
  }
  return text;
}

Row gpu_row(const json& gpu) {
  return {text_of(gpu["gpu_id"]),
          text_of(gpu["profile"]),
          text_of(gpu["cus"]),
          fmt::format("{}/{}", text_of(gpu["hqds_active"]), text_of(gpu["hqds"])),
          fmt::format("{}/{}", size_of(gpu["vram_used_bytes"]), size_of(gpu["vram_bytes"])),
          text_of(gpu["dispatches"]),
          text_of(gpu["wave_instructions"]),
          text_of(gpu["unmaps"]),
          text_of(gpu["runlists"]),
          text_of(gpu["waves_saved"]),
          text_of(gpu["waves_restored"]),
          size_of(gpu["saved_bytes"])};
}

Row queue_row(const json& queue) {
  Row row;
  for (const char* key : {"pid", "queue_id", "gpu_id", "type", "priority", "state"}) {
    row.push_back(text_of(queue[key]));
  }
  return row;
}

}  // namespace

std::string stats_table(const std::string& text) {
  const json stats = json::parse(text);
  std::vector<Row> gpus = {{"GPU", "PROFILE", "CUS", "HQDS", "VRAM", "DISPATCHES", "INSTRUCTIONS",
                            "UNMAPS", "RUNLISTS", "SAVED", "RESTORED", "BYTES"}};
  for (const json& gpu : stats["gpus"]) {
    gpus.push_back(gpu_row(gpu));
  }
  std::string table = layout(gpus);
  std::vector<Row> queues = {{"PID", "QUEUE", "GPU", "TYPE", "PRIORITY", "STATE"}};
  for (const json& queue : stats["queues"]) {
    queues.push_back(queue_row(queue));
  }
  table += "\n";
  table += queues.size() > 1 ? layout(queues) : "No queues.\n";
  if (stats["cost_model"] != "none") {
    table += fmt::format("\nTimes include the cost model {} (emulated).\n",
                         text_of(stats["cost_model"]));
  }
  return table;
}

}  // namespace vgpu::cli
