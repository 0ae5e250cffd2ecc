#include "demo/programs.h"

#include <cerrno>
#include <filesystem>

#include "base/parts.h"

namespace gp::demo {
namespace {

// A release has them as source: a HIP program runs with the ROCm it was compiled with.
Result<std::string> find_example(const char* name) {
  auto found = find_part(PartKind::example, name);
  if (!found) {
    if (const auto builder = find_part(PartKind::helper, "build-examples")) {
      return Error(found.error()).with_hint("where there is hipcc, " + *builder + " compiles it");
    }
  }
  return found;
}

Result<std::string> this_program() {
  std::error_code code;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", code);
  if (code) {
    return Error{code.value(), "/proc/self/exe", "is /proc mounted?"};
  }
  return self.string();
}

}  // namespace

Result<Programs> find_programs() {
  Programs programs;
  programs.gpreempt = TRY(this_program());
  programs.gpreemptd = TRY(find_part(PartKind::program, "gpreemptd"));
  programs.vgpu = TRY(find_part(PartKind::program, "vgpu"));
  programs.trainer = TRY(find_example("trainer"));
  programs.server = TRY(find_example("server"));
  programs.llm_client = TRY(find_part(PartKind::helper, "gpreempt-llm-client"));
  return programs;
}

Result<Programs> find_verify_programs() {
  Programs programs;
  programs.gpreempt = TRY(this_program());
  programs.gpreemptd = TRY(find_part(PartKind::program, "gpreemptd"));
  programs.load = TRY(find_part(PartKind::helper, "gpreempt-load"));
  if (const auto vgpu = find_part(PartKind::program, "vgpu")) {
    programs.vgpu = *vgpu;
  }
  return programs;
}

}  // namespace gp::demo
