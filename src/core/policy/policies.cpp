// The tables: policies, and their parameters.
#include "policy/policy.h"

namespace gp::policy {

const std::vector<Policy>& policies() {
  static const std::vector<Policy> all = {
      {"strict", "While online work is busy, offline work on the same GPUs is stopped.", false,
       strict},
      {"share", "As strict, but offline work keeps a part of the time, in slices.", false, share},
      {"priority", "On each GPU the busy jobs of the highest level run; equal levels together.",
       true, priority},
      {"slo", "Offline work is stopped only when online work would miss its target otherwise.",
       false, slo},
  };
  return all;
}

const Policy* find(std::string_view name) {
  for (const Policy& policy : policies()) {
    if (name == policy.name) {
      return &policy;
    }
  }
  return nullptr;
}

const std::vector<ParameterInfo>& parameter_table() {
  static const std::vector<ParameterInfo> table = {
#define DURATION(name, value, lowest, highest, meaning) \
  {#name, meaning, lowest, highest, &Parameters::name##_ns, nullptr, nullptr},
#define FRACTION(name, value, lowest, highest, meaning) \
  {#name, meaning, lowest, highest, nullptr, &Parameters::name, nullptr},
#define FLAG(name, value, meaning) {#name, meaning, 0, 1, nullptr, nullptr, &Parameters::name},
#include "policy/parameters.def"
#undef DURATION
#undef FRACTION
#undef FLAG
  };
  return table;
}

}  // namespace gp::policy
