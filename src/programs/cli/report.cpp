// gpreempt report: the page of what a demo or a benchmark has measured.
#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/exit_code.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "report/verdict.h"
#include "verify/evidence.h"

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

std::string value_text(const report::Criterion* criterion) {
  return criterion == nullptr ? ""
         : criterion->value   ? fmt::format("{:.4g} {}", *criterion->value, criterion->unit)
                              : "N/A";
}

const char* verdict_text(const report::Criterion* criterion) {
  return criterion == nullptr ? "" : report::shown_as(report::verdict_of(*criterion));
}

const report::Criterion* find(const report::Results& results, const report::Criterion& like) {
  const auto found = std::ranges::find_if(results.criteria, [&](const auto& each) {
    return each.scenario == like.scenario && each.what == like.what;
  });
  return found == results.criteria.end() ? nullptr : &*found;
}

void print_machine(const char* name, const report::Environment& machine) {
  fmt::print("{}: {}, {}, {}, {}\n", name, machine.device, machine.kernel, machine.rocm,
             machine.date);
}

Status print_comparison(const std::string& first, const std::string& second) {
  const auto read = [](const std::string& place) -> Result<report::Results> {
    return report::from_json(TRY(verify::read_member(place, report::kResultsFile)));
  };
  const report::Results a = TRY(read(first)), b = TRY(read(second));
  print_machine("A", a.environment);
  print_machine("B", b.environment);
  std::vector<Row> rows;
  const auto add = [&](const report::Criterion* in_a, const report::Criterion* in_b) {
    const report::Criterion& any = in_a != nullptr ? *in_a : *in_b;
    rows.push_back({any.scenario, value_text(in_a), verdict_text(in_a), value_text(in_b),
                    verdict_text(in_b), any.what});
  };
  for (const report::Criterion& each : a.criteria) {
    add(&each, find(b, each));
  }
  for (const report::Criterion& each : b.criteria) {
    if (find(a, each) == nullptr) {
      add(nullptr, &each);
    }
  }
  fmt::print("\n{}", layout({{"STEP"}, {"A", true}, {""}, {"B", true}, {""}, {"WHAT"}}, rows, 160));
  return ok();
}

}  // namespace

int compare_results(const std::string& first, const std::string& second) {
  const Status done = print_comparison(first, second);
  return done ? exit_ok : report_error(done.error());
}

int report_page(const std::string& directory, const std::string& output,
                const std::string& picture) {
  const Status done = make_report(directory, output, picture);
  return done ? exit_ok : report_error(done.error());
}

}  // namespace gp::cli
