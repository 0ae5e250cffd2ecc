// The mechanisms: the ways to stop queues and start them again. This is the one list of them; the
// engine's choice, the wire, the agent, `gpreempt doctor`, the C API, bench and the tables in
// README and man pages all derive from it (tests/docs compares those).
#pragma once

#include <string_view>

#include "libc/types.h"

namespace gp {

// The numbers are spoken on the wire and written to the daemon's journal.
enum class Mechanism : u32 {
  kernel = 1,
  self_debug = 2,
  debugger = 3,
  early_ioctl = 4,
  update_queue = 5,
  criu = 6,
  gate = 7,
};

enum class Place { inside, outside };  // of the target process: inside is done by its agent
enum class Scope { queue, process };   // the least it can stop
// Driver calls, each of which unmaps whole nodes. call_per_stop: one for any number of processes.
enum class Cost { no_call, call_per_queue, call_per_process, call_per_stop };

struct MechanismInfo {
  Mechanism mechanism;
  const char* name;  // as in the configuration, in status and on the command line
  u32 level;         // XSched's: 1 holds back packets, 3 saves running waves where the GPU has CWSR
  Place place;
  Scope scope;
  Cost cost;
  bool by_default;    // may be chosen without being named
  const char* needs;  // for people: what must be there
  const char* notes;  // for people: what to know before using it
};

// Best first: what stops any number of processes with one call, then what stops all queues of one
// with a call, from inside (no privilege, no tracer) before outside, then one call per queue, then
// a whole process, then what cannot stop running work. `early-ioctl` and `criu` are never used
// without being asked for (the former's numbers may mean something else in another driver, the
// latter does not end with its user); who asks for one wants it before its like, so `early-ioctl`
// comes before `update-queue`.
// clang-format off
inline constexpr MechanismInfo kMechanisms[] = {
  {Mechanism::kernel, "kernel", 3, Place::outside, Scope::queue, Cost::call_per_stop, true,
   "an amdkfd with gpreempt's patches (docs/kernel.md); the same user, ptrace or CAP_SYS_NICE",
   "one unmap for any number of processes; the kernel starts the queues if we die or hang"},
  {Mechanism::self_debug, "self-debug", 3, Place::inside, Scope::queue, Cost::call_per_process, true,
   "KFD 1.13 (Linux 6.5), a runtime that calls RUNTIME_ENABLE, gfx9 or later",
   "excludes rocgdb on the process"},
  {Mechanism::debugger, "debugger", 3, Place::outside, Scope::queue, Cost::call_per_process, true,
   "KFD 1.13 (Linux 6.5), a runtime that calls RUNTIME_ENABLE, gfx9 or later, ptrace of the target",
   "excludes rocgdb and strace on the process; the kernel starts the queues if we die"},
  {Mechanism::early_ioctl, "early-ioctl", 3, Place::inside, Scope::queue, Cost::call_per_queue, false,
   "a driver build with PREEMPT_QUEUE (0x87) and RESUME_QUEUE (0x88)",
   "AMD may give these numbers to something else"},
  {Mechanism::update_queue, "update-queue", 3, Place::inside, Scope::queue, Cost::call_per_queue, true,
   "any KFD; the ids of the queues",
   "each call unmaps everything on the GPU once"},
  {Mechanism::criu, "criu", 3, Place::outside, Scope::process, Cost::call_per_process, false,
   "KFD 1.7 (Linux 5.18), CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN, ptrace of the target",
   "the kernel does not start the queues if we die: a helper process does"},
  {Mechanism::gate, "gate", 1, Place::inside, Scope::process, Cost::no_call, true,
   "the agent from the program's start, with GPREEMPT_GATE=1",
   "no new work begins; what runs, runs to its end"},
};
// clang-format on

constexpr const MechanismInfo& info_of(Mechanism mechanism) {
  return kMechanisms[static_cast<u32>(mechanism) - 1];
}
constexpr bool is_in_order() {
  u32 number = 0;
  for (const MechanismInfo& entry : kMechanisms) {
    if (static_cast<u32>(entry.mechanism) != ++number) {
      return false;
    }
  }
  return true;
}
static_assert(is_in_order(), "info_of() finds an entry by its number");

constexpr u32 kMechanismCount = sizeof kMechanisms / sizeof kMechanisms[0];
// Of a number that somebody else wrote.
constexpr bool is_mechanism(u32 number) { return number >= 1 && number <= kMechanismCount; }
constexpr bool is_inside(Mechanism mechanism) { return info_of(mechanism).place == Place::inside; }

// The mechanism of this name; nullptr if there is none.
constexpr const MechanismInfo* find_mechanism(std::string_view name) {
  for (const MechanismInfo& entry : kMechanisms) {
    if (name == entry.name) {
      return &entry;
    }
  }
  return nullptr;
}

// A set of mechanisms; its bits are spoken on the wire.
class MechanismSet {
 public:
  constexpr MechanismSet() = default;
  template <class... Each>
  constexpr explicit MechanismSet(Mechanism first, Each... others) {
    add(first);
    (add(others), ...);
  }
  static constexpr MechanismSet of_bits(u32 bits) {
    MechanismSet set;
    set.bits_ = bits;
    return set;
  }
  static constexpr MechanismSet defaults() {
    MechanismSet set;
    for (const MechanismInfo& entry : kMechanisms) {
      if (entry.by_default) {
        set.add(entry.mechanism);
      }
    }
    return set;
  }

  constexpr void add(Mechanism mechanism) { bits_ |= bit(mechanism); }
  constexpr void remove(Mechanism mechanism) { bits_ &= ~bit(mechanism); }
  constexpr bool has(Mechanism mechanism) const { return (bits_ & bit(mechanism)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr u32 bits() const { return bits_; }
  bool operator==(const MechanismSet&) const = default;

 private:
  static constexpr u32 bit(Mechanism mechanism) { return 1U << static_cast<u32>(mechanism); }
  u32 bits_ = 0;
};

}  // namespace gp
