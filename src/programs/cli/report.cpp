// gpreempt report: the page of what a demo or a benchmark has measured.
#include "report/report.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/exit_code.h"
#include "cli/commands.h"
#include "report/verdict.h"

namespace gp::cli {
namespace {

Status make_report(const std::string& directory, const std::string& output,
                   const std::string& picture) {
  const report::Results results = TRY(report::read_results(directory));
  const std::string path =
      output.empty() ? fmt::format("{}/{}", directory, report::kPageFile) : output;
  TRY(report::write_html(results, path));
  std::printf("%s\n", path.c_str());
  if (!picture.empty()) {
    TRY(report::write_picture(results, picture));
    std::printf("%s\n", picture.c_str());
  }
  if (!results.criteria.empty()) {
    std::printf("%s\n", report::count_text(results.criteria).c_str());
  }
  return ok();
}

}  // namespace

int report_page(const std::string& directory, const std::string& output,
                const std::string& picture) {
  const Status done = make_report(directory, output, picture);
  return done ? exit_ok : report_error(done.error());
}

}  // namespace gp::cli
