// Whose a process is, as far as that can be known.
#pragma once

#include <sys/types.h>

#include <compare>

namespace gp {

struct Owner {
  uid_t uid = 0;
  // Nobody but this user can have that uid where the process lives. Not so in a container without a
  // user namespace of its own: its root can become anybody, and is uid 0 to begin with.
  bool is_certain = true;

  auto operator<=>(const Owner&) const = default;
};

// On what is its user's; but who may be an impostor has no say over those who are not.
constexpr bool may_act_on(const Owner& who, const Owner& other) {
  return who.uid == other.uid && (who.is_certain || !other.is_certain);
}

}  // namespace gp
