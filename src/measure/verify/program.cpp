// The first step: does our own program run on this GPU, and how fast is the GPU?
#include <fmt/format.h>

#include <algorithm>
#include <set>

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
  const Rate& usual = setting.rates.at(one_group_per_cu(setting));
  results.criteria.push_back(
      holds("program", "GPU kernels run, with exact results", true,
            fmt::format("{}, {} CUs, {}; clock {:.1f} MHz, {:.0f} rounds per ms",
                        ready.text("target"), setting.compute_units, setting.runtime,
                        usual.ticks_per_ms / 1000, usual.rounds_per_ms)));
  return ok();
}

}  // namespace gp::verify
