#include "discover/fixture_support.h"

#include <filesystem>

namespace gp::discover {

Recording gfx942_recording() {
  const std::string root = GPREEMPT_FIXTURES "/gfx942/";
  Recording recording;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.is_regular_file()) {
      const std::string path = entry.path();
      auto text = system_os().read_file(path);
      recording.add_file("/copy/" + path.substr(root.size()), text ? std::move(*text) : "");
    }
  }
  return recording;
}

Paths gfx942_paths() {
  return {.sysfs = "/copy/sysfs", .debugfs = "/copy/debugfs", .proc = "/copy/proc", .live = false};
}

Snapshot gfx942_snapshot(const Recording& recording, const Sources& sources) {
  ReplayingOs os(recording);
  auto snapshot = take_snapshot(os, gfx942_paths(), {}, sources);
  return snapshot ? std::move(*snapshot) : Snapshot{};
}

}  // namespace gp::discover
