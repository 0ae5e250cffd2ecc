// The ways to stop a process, as the engine chooses among them: the mechanisms of its agent, inside
// it, and those of the Controller, from outside. Best first.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/types.h"
#include "control/wire.h"
#include "mechanism/mechanism.h"

namespace gp::sched {

enum class Way : u8 { kernel, self_debug, debugger, early_ioctl, update_queue, criu, gate };
constexpr u32 kWays = 7;

struct WayInfo {
  Way way;
  const char* name;                        // as in the configuration and in status
  u32 level;                               // XSched's: 1 holds back packets, 3 saves running waves
  bool by_default;                         // used unless the configuration lists the ways
  u32 ability;                             // of the agent that carries it out; 0: from outside
  std::optional<control::Method> method;   // inside
  std::optional<mechanism::Id> mechanism;  // outside
};

std::span<const WayInfo> ways();  // best first, in the order of the enum
const WayInfo& info(Way way);
const WayInfo* find_way(std::string_view name);  // nullptr if there is none of that name
inline bool is_inside(Way way) { return info(way).ability != 0; }
// Many processes with one driver call, whoever stops them; and what it has stopped runs again with
// its end, by the kernel's own doing.
inline bool is_kernel(Way way) { return way == Way::kernel; }

// A set of ways, by bits.
class WaySet {
 public:
  static WaySet defaults();
  void add(Way way) { bits_ |= bit(way); }
  void remove(Way way) { bits_ &= ~bit(way); }
  bool has(Way way) const { return bits_ & bit(way); }
  bool operator==(const WaySet&) const = default;

 private:
  static u32 bit(Way way) { return 1U << static_cast<u32>(way); }
  u32 bits_ = 0;
};

}  // namespace gp::sched
