// A process may have queues of several classes: streams of high priority that answer requests
// beside streams that train. What has one class is a part of the process: watched, stopped and
// started by itself, and for the scheduler like a process of its own. Queues to which nobody has
// given a class are the rest, which has the class of the process; in most processes it is all there
// is.
#pragma once

#include <optional>

#include "libc/types.h"
#include "model/work_class.h"

namespace gp {

// The numbers are spoken on the wire.
enum class Part : u8 { rest = 0, offline, normal, online };

constexpr u32 kParts = 4;

constexpr u32 index_of(Part part) { return static_cast<u32>(part); }
// In a set of parts, which is a u32.
constexpr u32 bit_of(Part part) { return 1U << index_of(part); }

constexpr Part part_of(WorkClass work_class) {
  return static_cast<Part>(static_cast<u32>(work_class) + 1);
}
// The class of its queues; empty for the rest: that of the process.
constexpr std::optional<WorkClass> class_of(Part part) {
  return part == Part::rest ? std::nullopt
                            : std::optional(static_cast<WorkClass>(index_of(part) - 1));
}
static_assert(part_of(WorkClass::offline) == Part::offline &&
              part_of(WorkClass::normal) == Part::normal &&
              part_of(WorkClass::online) == Part::online);

}  // namespace gp
