// A look into JSON of the daemon, which may be of another release: what is missing is null.
#pragma once

#include <nlohmann/json.hpp>

namespace gp::cli {

inline const nlohmann::json& field(const nlohmann::json& object, const char* name) {
  static const nlohmann::json kNone;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found == object.end() ? kNone : *found;
}

}  // namespace gp::cli
