// The classes of work. On the wire and in the C API they have numbers of their own (wire.h,
// gpreempt.h).
#pragma once

#include <optional>
#include <string_view>

#include "libc/types.h"

namespace gp {

enum class WorkClass : u32 { offline = 0, normal = 1, online = 2 };

inline constexpr WorkClass kWorkClasses[] = {WorkClass::offline, WorkClass::normal,
                                             WorkClass::online};

constexpr const char* name(WorkClass work_class) {
  switch (work_class) {
    case WorkClass::offline: return "offline";
    case WorkClass::online: return "online";
    case WorkClass::normal: break;
  }
  return "normal";
}

// As name() writes it.
constexpr std::optional<WorkClass> find_class(std::string_view text) {
  for (const WorkClass each : kWorkClasses) {
    if (text == name(each)) {
      return each;
    }
  }
  return std::nullopt;
}

}  // namespace gp
