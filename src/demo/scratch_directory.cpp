#include "demo/scratch_directory.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace gp::demo {

Result<ScratchDirectory> ScratchDirectory::create() {
  const char* directory = std::getenv("TMPDIR");
  std::string path = fmt::format("{}/gpreempt-demo.XXXXXX",
                                 directory != nullptr && directory[0] == '/' ? directory : "/tmp");
  if (::mkdtemp(path.data()) == nullptr) {
    return Error{errno, fmt::format("make a directory {}", path), "is TMPDIR writable?"};
  }
  return ScratchDirectory(std::move(path));
}

ScratchDirectory::~ScratchDirectory() {
  if (!path_.empty()) {
    std::error_code code;
    std::filesystem::remove_all(path_, code);
  }
}

}  // namespace gp::demo
