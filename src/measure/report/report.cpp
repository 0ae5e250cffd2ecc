#include "report/report.h"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>

#include "base/files.h"

namespace gp::report {

Status write_results(const Results& results, const std::string& directory) {
  const std::string text = TRY(to_json(results));
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return Error{error.value(), fmt::format("cannot make the directory {}", directory), ""};
  }
  return write_file(fmt::format("{}/{}", directory, kResultsFile), text);
}

Result<Results> read_results(const std::string& directory) {
  const std::string path = fmt::format("{}/{}", directory, kResultsFile);
  Result<std::string> text = read_file(path);
  if (!text) {
    const bool missing = text.error().code == ENOENT || text.error().code == ENOTDIR;
    return std::move(text.error())
        .with_hint(missing ? "`gpreempt demo` and `gpreempt bench` make such a directory" : "");
  }
  Result<Results> results = from_json(*text);
  if (!results) {
    results.error().what = fmt::format("{}: {}", path, results.error().what);
  }
  return results;
}

}  // namespace gp::report
