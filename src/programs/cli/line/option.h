// What the commands share in saying what their options are. The only folder that knows CLI11.
#pragma once

#include <fmt/format.h>
#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <string>

#include "base/result.h"
#include "discover/snapshot.h"

namespace gp::cli {

// What an option's value must be, told by the parser that is used for it.
template <class T, class Parse>
CLI::Option* add_parsed(CLI::App& command, const char* option, const char* type, const char* help,
                        T& value, Parse parse) {
  return command
      .add_option_function<std::string>(
          option,
          [&value, parse](const std::string& text) {
            auto parsed = parse(text);
            if (!parsed) {
              const Error& error = parsed.error();
              throw CLI::ValidationError(
                  error.hint.empty() ? error.what : fmt::format("{} ({})", error.what, error.hint));
            }
            value = *parsed;
          },
          help)
      ->type_name(type);
}

Result<pid_t> parse_pid(const std::string& text);
Result<WorkClass> parse_class(const std::string& text);
// A length of time that something is measured for.
Result<std::chrono::milliseconds> parse_measuring_time(const std::string& text);

}  // namespace gp::cli
