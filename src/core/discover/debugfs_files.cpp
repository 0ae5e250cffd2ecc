// Reads the three files, and says once per cause what could not be read.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <map>

#include "discover/debugfs.h"

namespace gp::discover {
namespace {

constexpr std::size_t kFiles = 3;

std::string hint_for(int code, std::size_t files) {
  if (code == EACCES || code == EPERM) {
    return "debugfs is for root";
  }
  return code == ENOENT && files == kFiles ? "is debugfs mounted and the driver loaded?" : "";
}

void warn_of_damage(Debugfs& result, const char* name, u32 lines) {
  if (lines > 0) {
    result.warnings.push_back(fmt::format(
        "debugfs {}: {} lines could not be understood; what they hold is not shown", name, lines));
  }
}

}  // namespace

Debugfs read_debugfs(Os& os, const std::string& directory) {
  Debugfs result;
  std::map<int, std::vector<std::string_view>> unreadable;
  const auto read = [&](std::string_view name) {
    auto text = os.read_file(fmt::format("{}/{}", directory, name));
    if (!text) {
      unreadable[text.error().code].push_back(name);
    }
    return text;
  };
  // The queues first: one that ends meanwhile is then seen without a slot, which is true.
  if (const auto text = read("mqds")) {
    result.mqds = parse_mqds(*text);
    warn_of_damage(result, "mqds", result.mqds->damaged_lines);
  }
  if (const auto text = read("rls")) {
    result.rls = parse_rls(*text);
    warn_of_damage(result, "rls", result.rls->damaged_lines);
  }
  if (const auto text = read("hqds")) {
    result.hqds = parse_hqds(*text);
    warn_of_damage(result, "hqds", result.hqds->damaged_lines);
  }
  for (const auto& [code, names] : unreadable) {
    const std::string what = fmt::format("{}/{{{}}}", directory, fmt::join(names, ", "));
    result.warnings.push_back(Error{code, what, hint_for(code, names.size())}.message());
  }
  return result;
}

}  // namespace gp::discover
