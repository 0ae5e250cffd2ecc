// Are the queues that our program has made in the driver's lists?
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "discover/discover.h"
#include "verify/evidence.h"
#include "verify/judge.h"
#include "verify/load.h"
#include "verify/steps.h"

namespace gp::verify {
namespace {

// The lists as text, for the archive.
std::string dump_of(const discover::Snapshot& snapshot) {
  std::string text;
  for (const discover::Process& process : snapshot.processes) {
    text += fmt::format("process {}{}\n", process.key.pid, process.pid_is_ours ? "" : " (host's)");
    for (const discover::Queue& queue : process.queues) {
      text += fmt::format("  queue {} gpu {} {} ring {:#x} bytes {} saved {}\n",
                          queue.queue_id.value_or(0), queue.gpu_id, name(queue.type),
                          queue.ring_base.value_or(0), queue.ring_bytes.value_or(0),
                          queue.saved_bytes ? std::to_string(*queue.saved_bytes) : "N/A");
    }
  }
  for (const std::string& warning : snapshot.warnings) {
    text += "warning: " + warning + "\n";
  }
  return text;
}

struct Counted {
  unsigned compute = 0, at_their_addresses = 0;
  bool addresses_known = false;
};

Counted count(const discover::Process& process, const std::vector<Reply>& made) {
  Counted counted;
  std::vector<u64> rings;
  const auto bytes = static_cast<u64>(made.front().number("bytes"));
  const auto look = [&](const discover::Queue& queue) {
    if (queue.ring_base) {
      rings.push_back(*queue.ring_base);
    }
  };
  for (const discover::Queue& queue : process.queues) {
    counted.compute +=
        queue.type == discover::QueueType::compute && queue.ring_bytes.value_or(bytes) == bytes ? 1
                                                                                                : 0;
    look(queue);
  }
  std::ranges::for_each(process.unassigned, look);
  for (const Reply& queue : made) {
    const u64 ring = std::strtoull(queue.text("ring").c_str(), nullptr, 16);
    counted.at_their_addresses += std::ranges::count(rings, ring) != 0 ? 1 : 0;
  }
  counted.addresses_known = !rings.empty();
  return counted;
}

}  // namespace

Status run_discovery(Setting& setting, report::Results& results) {
  const unsigned queues = setting.extent.queues;
  Load load = TRY(Load::start(setting, {.name = "discovered", .queues = queues}));
  TRY(load.begin_offline(small_share(setting), 5));
  const discover::Snapshot snapshot = TRY(discover::take_snapshot(system_os(), {}, {}, {}));
  setting.queue_dump = dump_of(snapshot) + debugfs_text();
  const discover::Process* process = discover::find_process(snapshot, load.child().pid());
  const std::string what = fmt::format("queues of a program with {} in the driver's list", queues);
  if (process == nullptr &&
      std::ranges::any_of(snapshot.processes, [](const auto& each) { return !each.pid_is_ours; })) {
    results.criteria.push_back(unjudged(
        report::kNotPossible, "discovery", what,
        "in a pid namespace the driver's list has other pids: run the container with --pid=host"));
    return ok();
  }
  const Counted counted = process != nullptr ? count(*process, load.queues()) : Counted{};
  results.criteria.push_back(at_least("discovery", what, queues, "", counted.compute));
  if (counted.addresses_known) {
    results.criteria.push_back(at_least("discovery", "of these, at the addresses it knows itself",
                                        queues, "", counted.at_their_addresses));
  } else {
    results.criteria.push_back(unjudged(report::kNotPossible, "discovery",
                                        "the queues' addresses are those the program knows",
                                        "debugfs cannot be read: run it as root on the host"));
  }
  const Reply end = TRY(load.end_offline());
  results.criteria.push_back(
      at_most("discovery", "wrong results meanwhile", 0, "", end.number("wrong_lanes")));
  return ok();
}

}  // namespace gp::verify
