// One file to send: the directory of a run, packed by the program tar.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/arguments.h"
#include "base/files.h"
#include "base/unique_fd.h"
#include "verify/evidence.h"

namespace gp::verify {
namespace {

namespace fs = std::filesystem;
constexpr char kEnding[] = ".tar.gz";

// Runs a program and returns what it says; EIO, with its name, if its status is not 0.
Result<std::string> output_of(std::vector<std::string> words) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Error{errno, "pipe", ""};
  }
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, words[0].c_str(), &actions, nullptr,
                                    argument_pointers(words).data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  write_end.reset();
  if (failed != 0) {
    return Error{failed, words[0], fmt::format("install {}", words[0])};
  }
  std::string text;
  char piece[4096];
  for (ssize_t got = 0; (got = ::read(read_end.get(), piece, sizeof piece)) > 0;) {
    text.append(piece, static_cast<std::size_t>(got));
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Error{EIO, fmt::format("{} has failed", fmt::join(words, " ")), "is the disk full?"};
  }
  return text;
}

fs::path without_slash(const std::string& directory) {
  const fs::path path = fs::absolute(directory).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

std::string archive_of(const std::string& directory) {
  return without_slash(directory).string() + kEnding;
}

Result<std::string> write_archive(const std::string& directory, const std::vector<File>& files) {
  for (const File& file : files) {
    TRY(write_file(fmt::format("{}/{}", directory, file.name), file.content));
  }
  const fs::path path = without_slash(directory);
  std::string archive = archive_of(directory);
  TRY(output_of(
      {"tar", "-C", path.parent_path().string(), "-czf", archive, path.filename().string()}));
  return archive;
}

Result<std::string> read_member(const std::string& directory_or_archive, const std::string& name) {
  std::error_code code;
  if (fs::is_directory(directory_or_archive, code)) {
    return read_file(fmt::format("{}/{}", directory_or_archive, name));
  }
  if (!fs::exists(directory_or_archive, code)) {
    return Error{ENOENT, directory_or_archive, "name a directory or an archive of verify"};
  }
  return output_of(
      {"tar", "-xzOf", directory_or_archive, "--wildcards", fmt::format("*/{}", name)});
}

}  // namespace gp::verify
