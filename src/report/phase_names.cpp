#include "report/phase_names.h"

#include <algorithm>

namespace gp::report {
namespace {

struct Known {
  const char *name, *title, *shapes;
};
constexpr Known kKnown[] = {
    {"online-alone", "Online alone", "alone"},
    {"offline-alone", "Offline alone", "alone"},
    {"both-without", "Both, without gpreempt", "without"},
    {"both-with", "Both, with gpreempt", "with"},
};

const Known* known(const std::string& name) {
  const auto* found = std::find_if(std::begin(kKnown), std::end(kKnown),
                                   [&](const Known& each) { return name == each.name; });
  return found == std::end(kKnown) ? nullptr : found;
}

}  // namespace

std::string title_of(const Phase& phase) {
  const Known* found = known(phase.name);
  return found != nullptr ? found->title : phase.name;
}

std::string class_of(const Phase& phase) {
  const Known* found = known(phase.name);
  return found != nullptr ? found->shapes : "other";
}

const Phase* find_phase(const Results& results, const std::string& name) {
  for (const Phase& phase : results.phases) {
    if (phase.name == name) {
      return &phase;
    }
  }
  return nullptr;
}

}  // namespace gp::report
