#include "demo/programs.h"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <initializer_list>

namespace gp::demo {
namespace {

namespace fs = std::filesystem;

Result<std::string> find(const fs::path& here, const char* name,
                         std::initializer_list<const char*> directories) {
  for (const char* directory : directories) {
    const fs::path candidate = (here / directory / name).lexically_normal();
    std::error_code code;
    if (fs::is_regular_file(candidate, code)) {
      return candidate.string();
    }
  }
  return Error{ENOENT, fmt::format("{} is not beside {}", name, here.string()),
               "build all of gpreempt (make demo), or install it whole (make install)"};
}

}  // namespace

Result<Programs> find_programs() {
  std::error_code code;
  const fs::path self = fs::read_symlink("/proc/self/exe", code);
  if (code) {
    return Error{code.value(), "/proc/self/exe", "is /proc mounted?"};
  }
  const fs::path here = self.parent_path();
  // Built: build/bin and build/examples. Installed: bin, sbin and libexec/gpreempt.
  Programs programs;
  programs.gpreempt = self.string();
  programs.gpreemptd = TRY(find(here, "gpreemptd", {".", GPREEMPT_INSTALLED_SBIN}));
  programs.vgpu = TRY(find(here, "vgpu", {"."}));
  programs.trainer = TRY(find(here, "trainer", {"../examples", GPREEMPT_INSTALLED_LIBEXEC}));
  programs.server = TRY(find(here, "server", {"../examples", GPREEMPT_INSTALLED_LIBEXEC}));
  return programs;
}

}  // namespace gp::demo
