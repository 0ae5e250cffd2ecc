#include "base/parts.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <vector>

namespace gp {
namespace {

namespace fs = std::filesystem;

// From the root of an installation, or of a build. Packages have other folders for libraries than
// the archive, and the program is the same.
std::vector<const char*> folders_of(PartKind part) {
  switch (part) {
    case PartKind::program: return {"bin", GPREEMPT_SBINDIR, "sbin"};
    case PartKind::helper: return {GPREEMPT_HELPERS_DIR, "libexec/gpreempt", "bin"};
    case PartKind::example: return {GPREEMPT_HELPERS_DIR, "libexec/gpreempt", "examples"};
    case PartKind::library:
      return {GPREEMPT_LIBRARIES_DIR, "lib/gpreempt", "lib64/gpreempt",
              "lib/x86_64-linux-gnu/gpreempt", "lib"};
  }
  return {};
}

// Of this program, and of the library that this code is in. A program's own file is not asked of
// the loader: it knows it by the name it was called.
std::vector<fs::path> own_files() {
  std::vector<fs::path> files;
  std::error_code code;
  if (const fs::path program = fs::read_symlink("/proc/self/exe", code); !code) {
    files.push_back(program);
  }
  Dl_info library;
  if (::dladdr(reinterpret_cast<const void*>(&find_part), &library) != 0) {
    if (const fs::path file = fs::canonical(library.dli_fname, code); !code) {
      files.push_back(file);
    }
  }
  return files;
}

// bin, sbin and lib are in the root; lib/<architecture> and libexec/gpreempt are a step further.
std::vector<fs::path> roots() {
  std::vector<fs::path> found;
  for (const fs::path& file : own_files()) {
    const fs::path folder = file.parent_path();
    found.push_back(folder.parent_path());
    found.push_back(folder.parent_path().parent_path());
  }
  return found;
}

}  // namespace

Result<std::string> find_part(PartKind part, const std::string& name) {
  for (const fs::path& root : roots()) {
    for (const char* folder : folders_of(part)) {
      const fs::path candidate = root / folder / name;
      std::error_code code;
      if (fs::is_regular_file(candidate, code)) {
        return candidate.string();
      }
    }
  }
  return Error{ENOENT, fmt::format("{} is not where the other parts of gpreempt are", name),
               "install gpreempt whole, or build all of it (make build)"};
}

}  // namespace gp
