#include "cli/tools_lib.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/parts.h"

namespace gp::cli {
namespace {

namespace fs = std::filesystem;

std::string quoted(std::string_view library) {
  std::string text;
  for (const char c : library) {
    if (c == ' ' || c == '"' || c == '\\') {
      text += '\\';
    }
    text += c;
  }
  return text;
}

}  // namespace

Result<std::string> find_agent() {
  if (const char* named = std::getenv("GPREEMPT_AGENT")) {
    std::error_code code;
    if (!fs::is_regular_file(named, code)) {
      return Error{ENOENT, fmt::format("GPREEMPT_AGENT: {}", named), ""};
    }
    return fs::absolute(named).string();
  }
  auto found = find_part(PartKind::library, "libgpreempt_agent.so");
  if (!found) {
    return Error(found.error())
        .with_hint("install gpreempt whole; GPREEMPT_AGENT names it elsewhere");
  }
  return found;
}

std::string with_tool(std::string_view list, std::string_view library) {
  std::string name = quoted(library);
  if (list.empty()) {
    return name;
  }
  if (fmt::format(" {} ", list).find(fmt::format(" {} ", name)) != std::string::npos) {
    return std::string(list);
  }
  return fmt::format("{} {}", list, name);
}

}  // namespace gp::cli
