#include "cli/measuring_setup.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "cli/system.h"
#include "demo/demo.h"

namespace gp::cli {
namespace {

namespace fs = std::filesystem;

}  // namespace

Status check_place_for(const std::string& path) {
  std::error_code code;
  fs::path place = fs::absolute(path, code);
  const bool is_there = fs::exists(place, code);
  while (!fs::exists(place, code) && place.has_relative_path()) {
    place = place.parent_path();
  }
  const bool fits = is_there || fs::is_directory(place, code);
  if (!fits || ::access(place.c_str(), W_OK) != 0) {
    return Error{fits ? errno : ENOTDIR, fmt::format("write to {}", place.string()),
                 "choose another --output or --json"};
  }
  return ok();
}

Result<MeasuringSetup> prepare_measuring(const std::vector<std::string>& paths, bool virtual_gpu,
                                         const std::vector<std::string>& words,
                                         const std::vector<std::string>& device_options) {
  for (const std::string& path : paths) {
    if (!path.empty()) {
      TRY(check_place_for(path));
    }
  }
  demo::Programs programs = TRY(demo::find_programs());
  if (!demo::on_virtual_gpu() && (virtual_gpu || !demo::has_gpu())) {
    std::fputs("No AMD GPU is used: starting a virtual GPU.\n", stderr);
    return demo::enter_virtual_gpu(programs, words, device_options);
  }
  return MeasuringSetup{std::move(programs), TRY(catch_end_signals())};
}

}  // namespace gp::cli
