// JSON on standard output.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>

namespace gp::cli {

// A command line may hold bytes that are no UTF-8: they become U+FFFD. `indent` -1: one line.
inline void print_json(const nlohmann::ordered_json& value, int indent = 2) {
  const auto replace = nlohmann::ordered_json::error_handler_t::replace;
  std::printf("%s\n", value.dump(indent, ' ', false, replace).c_str());
  std::fflush(stdout);
}

}  // namespace gp::cli
