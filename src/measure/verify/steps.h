// The steps of `gpreempt verify`; docs/verify.md has what each does and is judged by. A step adds
// its criteria to the results. One that returns an error has failed; the others go on.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "report/results.h"
#include "verify/setting.h"

namespace gp::verify {

struct Step {
  const char* name;
  const char* what;  // "stopping and starting with every mechanism"
  Status (*run)(Setting& setting, report::Results& results);
  bool needs_program;    // nothing can be said if gpreempt-load does not run
  bool needs_mechanism;  // nor, of this one, if nothing stops a running kernel
  const char* remedy;    // what to do where it is missed
};

// In the order in which they run.
std::span<const Step> steps();

// What everything else depends on.
inline constexpr char kCanStop[] = "a running kernel can be stopped here";

// The best mechanism that works, for steps that are run without run_mechanisms(). The results get
// what is wrong with those that are better, or that there is none.
Status find_working(Setting& setting, report::Results& results);

Status run_program(Setting& setting, report::Results& results);
Status run_discovery(Setting& setting, report::Results& results);
Status run_mechanisms(Setting& setting, report::Results& results);
Status run_save(Setting& setting, report::Results& results);
Status run_online(Setting& setting, report::Results& results);
Status run_levels(Setting& setting, report::Results& results);
Status run_deaths(Setting& setting, report::Results& results);
Status run_gpus(Setting& setting, report::Results& results);
Status run_soak(Setting& setting, report::Results& results);

// Kernels that several steps use; calibrated by the first.
KernelShape one_group_per_cu(const Setting& setting);
KernelShape whole_gpu(const Setting& setting);
KernelShape small_share(const Setting& setting);  // of the GPU, for many queues and processes
std::vector<KernelShape> shapes_to_save(const Setting& setting);

}  // namespace gp::verify
