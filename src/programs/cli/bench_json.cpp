#include <nlohmann/json.hpp>

#include "cli/bench_output.h"
#include "report/comparisons.h"
#include "report/report.h"
#include "report/verdict.h"

namespace gp::cli {
namespace {

using Json = nlohmann::ordered_json;

Json tiers_json(const report::Results& results) {
  Json all = Json::array();
  for (const report::Tier& tier : report::hardware_tiers(results)) {
    all.push_back({{"what", tier.what},
                   {"unit", tier.unit},
                   {"limits", tier.limits},
                   {"at_least", tier.at_least},
                   {"value", tier.value ? Json(*tier.value) : Json()},
                   {"emulated", results.environment.virtual_gpu}});
  }
  return all;
}

}  // namespace

// The same fields as in results.json, and what follows from them.
Result<std::string> bench_json(const report::Results& results) {
  const Json whole = Json::parse(TRY(report::to_json(results)));
  Json all = {{"schema_version", 1}, {"virtual_gpu", results.environment.virtual_gpu}};
  all["criteria"] = whole["criteria"];
  for (std::size_t i = 0; i < results.criteria.size(); ++i) {
    all["criteria"][i]["passed"] = report::is_met(results.criteria[i]);
    all["criteria"][i]["verdict"] = report::name(report::verdict_of(results.criteria[i]));
  }
  for (const char* part : {"schemes", "batching", "reservation", "lingers"}) {
    all[part] = whole[part];
  }
  all["tiers"] = tiers_json(results);
  return all.dump(1) + "\n";
}

}  // namespace gp::cli
