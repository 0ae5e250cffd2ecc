#include "cli/ground.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "cli/end_signals.h"
#include "demo/demo.h"

namespace gp::cli {
namespace {

namespace fs = std::filesystem;

// Known before a minute has gone by: whether the results can be kept. Makes nothing yet.
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

}  // namespace

Result<Ground> find_ground(const std::vector<std::string>& paths, bool virtual_gpu,
                           const std::vector<std::string>& words,
                           const std::vector<std::string>& device_options) {
  for (const std::string& path : paths) {
    if (!path.empty()) {
      TRY(check_place_for(path));
    }
  }
  demo::Places places = TRY(demo::find_places());
  if (!demo::on_virtual_gpu() && (virtual_gpu || !demo::has_gpu())) {
    std::fputs("No AMD GPU is used: starting a virtual GPU.\n", stderr);
    return demo::enter_virtual_gpu(places, words, device_options);
  }
  return Ground{std::move(places), TRY(catch_end_signals())};
}

}  // namespace gp::cli
