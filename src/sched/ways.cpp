#include "sched/ways.h"

namespace gp::sched {

using control::Method;
using mechanism::Id;

// `kernel` stops any number of processes with one unmap of each node; `update-queue` costs one for
// each queue, so what stops a process in one call comes before it. `early-ioctl` and `criu` are
// never used without being asked for: the former's number may mean something else in another
// driver, the latter does not end with its user.
std::span<const WayInfo> ways() {
  static const WayInfo table[kWays] = {
      {Way::kernel, "kernel", 3, true, 0, {}, Id::kernel},
      {Way::self_debug, "self-debug", 3, true, control::can_self_debug, Method::self_debug, {}},
      {Way::debugger, "debugger", 3, true, 0, {}, Id::debugger},
      {Way::early_ioctl,
       "early-ioctl",
       3,
       false,
       control::can_early_ioctl,
       Method::early_ioctl,
       {}},
      {Way::update_queue,
       "update-queue",
       3,
       true,
       control::can_update_queue,
       Method::update_queue,
       {}},
      {Way::criu, "criu", 3, false, 0, {}, Id::criu},
      {Way::gate, "gate", 1, true, control::can_gate, Method::gate, {}},
  };
  return table;
}

const WayInfo& info(Way way) { return ways()[static_cast<u32>(way)]; }

const WayInfo* find_way(std::string_view name) {
  for (const WayInfo& entry : ways()) {
    if (name == entry.name) {
      return &entry;
    }
  }
  return nullptr;
}

WaySet WaySet::defaults() {
  WaySet set;
  for (const WayInfo& entry : ways()) {
    if (entry.by_default) {
      set.add(entry.way);
    }
  }
  return set;
}

}  // namespace gp::sched
