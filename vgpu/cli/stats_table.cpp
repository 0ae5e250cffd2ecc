#include "cli/stats_table.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/text_table.h"
#include "base/units.h"

namespace vgpu::cli {
namespace {

using gp::Row;
using nlohmann::json;

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string size_of(const json& value) { return gp::format_size(value.get<gp::u64>()); }

// All to the right: nearly all are numbers.
std::vector<gp::Column> columns(std::initializer_list<const char*> titles) {
  std::vector<gp::Column> columns;
  for (const char* title : titles) {
    columns.push_back({title, true});
  }
  return columns;
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

bool workers_may_be_real_time(const json& gpus) {
  return std::all_of(gpus.begin(), gpus.end(),
                     [](const json& gpu) { return gpu["loans_refused"] == 0; });
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
  std::vector<Row> gpus;
  for (const json& gpu : stats["gpus"]) {
    gpus.push_back(gpu_row(gpu));
  }
  std::string table =
      gp::layout(columns({"GPU", "PROFILE", "CUS", "HQDS", "VRAM", "DISPATCHES", "INSTRUCTIONS",
                          "UNMAPS", "RUNLISTS", "SAVED", "RESTORED", "BYTES"}),
                 gpus);
  std::vector<Row> queues;
  for (const json& queue : stats["queues"]) {
    queues.push_back(queue_row(queue));
  }
  table += "\n";
  table += queues.empty()
               ? "No queues.\n"
               : gp::layout(columns({"PID", "QUEUE", "GPU", "TYPE", "PRIORITY", "STATE"}), queues);
  if (!workers_may_be_real_time(stats["gpus"])) {
    table += "\nWorkers may not be real-time (CAP_SYS_NICE): on busy CPUs a stop takes longer.\n";
  }
  if (stats["cost_model"] != "none") {
    table += fmt::format("\nTimes include the cost model {} (emulated).\n",
                         text_of(stats["cost_model"]));
  }
  return table;
}

}  // namespace vgpu::cli
