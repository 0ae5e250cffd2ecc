#include "cli/queue_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text_table.h"
#include "base/units.h"

namespace gp::cli {
namespace {

using discover::Process;
using discover::Queue;
using nlohmann::ordered_json;

constexpr std::size_t kLongestTag = 16;  // in a table

template <class T>
std::string text_or_na(const std::optional<T>& reading) {
  return reading ? fmt::format("{}", *reading) : "N/A";
}
std::string text_or_na(const std::optional<bool>& reading) {
  return reading ? (*reading ? "yes" : "no") : "N/A";
}
std::string text_or_na(const std::string& text) { return text.empty() ? "N/A" : text; }

template <class T>
ordered_json or_null(const std::optional<T>& reading) {
  return reading ? ordered_json(*reading) : ordered_json(nullptr);
}
ordered_json or_null(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}
template <class T>
std::optional<T> unless_zero(T value) {
  return value == 0 ? std::nullopt : std::optional<T>(value);
}

std::string type_name(discover::QueueType type) {
  return type == discover::QueueType::unknown ? "N/A" : name(type);
}

ordered_json type_json(discover::QueueType type) {
  return type == discover::QueueType::unknown ? ordered_json(nullptr) : ordered_json(name(type));
}

Row queue_row(const Process& process, const Queue& queue) {
  return {fmt::format("{}", process.key.pid),
          text_or_na(queue.queue_id),
          text_or_na(unless_zero(queue.gpu_id)),
          type_name(queue.type),
          name(process.work_class),
          text_or_na(queue.priority),
          text_or_na(queue.mapped),
          text_or_na(queue.active),
          process.tag.empty() ? "-" : shorten(process.tag, kLongestTag),
          text_or_na(short_command(process.command))};
}

ordered_json one_queue(const Process& process, const Queue& queue) {
  return {{"pid", process.key.pid},
          {"start_time", or_null(unless_zero(process.key.start_time))},
          {"queue_id", or_null(queue.queue_id)},
          {"gpu_id", or_null(unless_zero(queue.gpu_id))},
          {"type", type_json(queue.type)},
          {"class", name(process.work_class)},
          {"priority", or_null(queue.priority)},
          {"mapped", or_null(queue.mapped)},
          {"active", or_null(queue.active)},
          {"ring_base", or_null(queue.ring_base)},
          {"read_index", or_null(queue.read_index)},
          {"write_index", or_null(queue.write_index)},
          {"tag", or_null(process.tag)},
          {"command", or_null(process.command)}};
}

Row event_row(const discover::QueueEvent& event, const Process* process) {
  return {event.appeared ? "appeared" : "vanished",
          fmt::format("{}", event.key.process.pid),
          fmt::format("{}", event.key.queue_id),
          text_or_na(unless_zero(event.gpu_id)),
          type_name(event.type),
          process != nullptr ? name(process->work_class) : "N/A",
          process != nullptr ? text_or_na(short_command(process->command)) : "N/A"};
}

// Fixed widths: lines come one by one.
std::string event_text(const Row& row) {
  return shorten(printable(fmt::format("{:<8}  {:>7}  {:>5}  {:>6}  {:<9}  {:<7}  {}", row[0],
                                       row[1], row[2], row[3], row[4], row[5], row[6])),
                 kTableWidth);
}

}  // namespace

std::string short_command(const std::string& command) {
  const std::size_t end = std::min(command.find(' '), command.size());
  const std::size_t slash = command.rfind('/', end);
  return slash == std::string::npos || slash + 1 >= end ? command : command.substr(slash + 1);
}

std::string node_table(const discover::Snapshot& snapshot) {
  std::vector<Row> rows;
  for (const discover::Node& node : snapshot.nodes) {
    rows.push_back({std::to_string(rows.size()), text_or_na(unless_zero(node.gpu_id)),
                    text_or_na(discover::gfx_name(node)), text_or_na(node.cus),
                    text_or_na(node.xccs), text_or_na(node.hqds), text_or_na(node.hqds_active),
                    node.save_area_bytes ? format_size(*node.save_area_bytes) : "N/A",
                    text_or_na(node.name)});
  }
  if (rows.empty()) {
    return "No GPU.\n";
  }
  // The first is what verify --gpu wants, and ROCm's own numbers where nothing is hidden from it.
  return layout({{"NO", true},
                 {"GPU", true},
                 {"GFX"},
                 {"CUS", true},
                 {"XCCS", true},
                 {"SLOTS", true},
                 {"USED", true},
                 {"SAVE AREA", true},
                 {"NAME"}},
                rows);
}

std::string queue_tables(const discover::Snapshot& snapshot, const discover::Filter& filter) {
  std::vector<Row> rows;
  for (const discover::Found& found : discover::find(snapshot, filter)) {
    rows.push_back(queue_row(*found.process, *found.queue));
  }
  std::string text = node_table(snapshot) + "\n";
  if (rows.empty()) {
    return text + "No queues.\n";
  }
  return text + layout({{"PID", true},
                        {"QUEUE", true},
                        {"GPU", true},
                        {"TYPE"},
                        {"CLASS"},
                        {"PRIO", true},
                        {"MAPPED"},
                        {"ACTIVE"},
                        {"TAG"},
                        {"COMMAND"}},
                       rows);
}

ordered_json node_json(const discover::Node& node) {
  return {{"gpu_id", or_null(unless_zero(node.gpu_id))},
          {"gfx", or_null(discover::gfx_name(node))},
          {"cus", or_null(node.cus)},
          {"xccs", or_null(node.xccs)},
          {"hqds", or_null(node.hqds)},
          {"hqds_active", or_null(node.hqds_active)}};
}

ordered_json queue_json(const discover::Snapshot& snapshot, const discover::Filter& filter) {
  ordered_json nodes = ordered_json::array(), queues = ordered_json::array();
  for (const discover::Node& node : snapshot.nodes) {
    nodes.push_back(node_json(node));
  }
  for (const discover::Found& found : discover::find(snapshot, filter)) {
    queues.push_back(one_queue(*found.process, *found.queue));
  }
  return {{"schema_version", kSchemaVersion},
          {"nodes", std::move(nodes)},
          {"queues", std::move(queues)},
          {"warnings", snapshot.warnings}};
}

std::string event_header() {
  return event_text({"EVENT", "PID", "QUEUE", "GPU", "TYPE", "CLASS", "COMMAND"});
}

std::string event_line(const discover::QueueEvent& event, const Process* process) {
  return event_text(event_row(event, process));
}

ordered_json event_json(const discover::QueueEvent& event, const Process* process) {
  return {{"schema_version", kSchemaVersion},
          {"event", event.appeared ? "appeared" : "vanished"},
          {"pid", event.key.process.pid},
          {"start_time", or_null(unless_zero(event.key.process.start_time))},
          {"queue_id", event.key.queue_id},
          {"gpu_id", or_null(unless_zero(event.gpu_id))},
          {"type", type_json(event.type)},
          {"class", process != nullptr ? ordered_json(name(process->work_class)) : nullptr},
          {"command", process != nullptr ? or_null(process->command) : ordered_json(nullptr)}};
}

}  // namespace gp::cli
