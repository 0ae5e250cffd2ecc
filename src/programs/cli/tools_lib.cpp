#include "cli/tools_lib.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

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
  std::error_code code;
  const fs::path here = fs::read_symlink("/proc/self/exe", code).parent_path();
  for (const char* place : {"../lib/libgpreempt_agent.so", GPREEMPT_INSTALLED_AGENT}) {
    const fs::path candidate = (here / place).lexically_normal();
    if (fs::is_regular_file(candidate, code)) {
      return candidate.string();
    }
  }
  return Error{ENOENT, "libgpreempt_agent.so is not beside this program",
               "make install puts it there; GPREEMPT_AGENT names it elsewhere"};
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
