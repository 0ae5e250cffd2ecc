// The first step: does our own program run on this GPU, and how fast is the GPU?
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "demo/summary.h"
#include "report/numbers.h"

#include "verify/judge.h"
#include "verify/load.h"
#include "verify/steps.h"

namespace gp::verify {

KernelShape one_group_per_cu(const Setting& setting) { return {"small", setting.compute_units}; }

KernelShape whole_gpu(const Setting& setting) {
  constexpr unsigned kGroupsPerCu = 8;  // of 4 waves: all that a CU of gfx9 holds
  return {"small", setting.compute_units * kGroupsPerCu};
}

KernelShape small_share(const Setting& setting) {
  return {"small", std::max(1U, setting.compute_units / 8)};
}

std::vector<KernelShape> shapes_to_save(const Setting& setting) {
  const unsigned cus = setting.compute_units;
  if (setting.virtual_gpu) {  // it takes a thousand times as long: it gets less to do
    return {{"small", cus}, {"registers", cus}, {"lds", cus}};
  }
  // Registers of gfx9 are enough for 4 waves of `registers` in a SIMD; one group has all LDS.
  return {
      {"small", cus}, {"small", 8 * cus}, {"registers", cus}, {"registers", 4 * cus}, {"lds", cus}};
}

namespace {

// By how much a kernel of this length is longer or shorter than asked, as a factor.
Result<double> error_of(Load& load, const KernelShape& shape, double ms) {
  constexpr int kTimes = 5;
  std::vector<double> all;
  for (int i = 0; i < kTimes; ++i) {
    TRY(load.begin_once(shape, ms));
    all.push_back(TRY(load.end_once()).front().number("gpu_ms") / ms);
  }
  const double ratio = *demo::quantile(all, 0.5);
  return ratio > 0 ? std::max(ratio, 1 / ratio) : HUGE_VAL;
}

// What all other steps count on: a kernel is as long as it is asked to be, on whatever GPU.
Result<report::Criterion> judge_lengths(Load& load, const KernelShape& shape) {
  constexpr double kLengthsMs[] = {0.1, 1, 10, 100};
  constexpr double kMostOff = 2;
  double worst = 1;
  std::string each;
  for (const double ms : kLengthsMs) {
    const double error = TRY(error_of(load, shape, ms));
    worst = std::max(worst, error);
    each +=
        fmt::format("{}{} ms: {:.2f}x", each.empty() ? "" : ", ", report::format_short(ms), error);
  }
  report::Criterion criterion = at_most(
      "program", "kernels are as long as asked for, 0.1 to 100 ms: off by", kMostOff, "x", worst);
  criterion.note = each;
  return criterion;
}

}  // namespace

Status run_program(Setting& setting, report::Results& results) {
  Load load = TRY(Load::start(setting, {.name = "calibration"}));
  const Reply& ready = load.ready();
  setting.compute_units = static_cast<unsigned>(ready.number("compute_units"));
  setting.runtime = fmt::format("HSA {} ({})", ready.text("hsa"), ready.text("library"));
  std::set<KernelShape> shapes = {one_group_per_cu(setting), whole_gpu(setting),
                                  small_share(setting)};
  for (const KernelShape& shape : shapes_to_save(setting)) {
    shapes.insert(shape);
  }
  for (const KernelShape& shape : shapes) {
    setting.rates[shape] = TRY(load.calibrate(shape));
  }
  setting.fill_gb_per_s = TRY(load.bandwidth());
  const Rate& usual = setting.rates.at(one_group_per_cu(setting));
  results.criteria.push_back(holds(
      "program", "GPU kernels run, with exact results", true,
      fmt::format("{}, {} CUs, {}; clock {:.1f} MHz, {:.0f} rounds per ms; it fills memory at "
                  "{} GB/s",
                  ready.text("target"), setting.compute_units, setting.runtime,
                  usual.ticks_per_ms / 1000, usual.rounds_per_ms,
                  report::format_short(setting.fill_gb_per_s))));
  results.criteria.push_back(TRY(judge_lengths(load, one_group_per_cu(setting))));
  return ok();
}

}  // namespace gp::verify
