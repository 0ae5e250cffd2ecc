// `gpreempt verify` as a user runs it, and what is left of it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "demo/demo_support.h"

namespace gp::verify {

namespace fs = std::filesystem;
using nlohmann::json;
using vgpu::server::Outcome;
using vgpu::server::Words;

// On a virtual GPU of its own, or on one that the test has started.
class Verify : public demo::Demo {
 protected:
  Words words(const Words& more) const {
    Words all = {GPREEMPT_BIN_DIR "/gpreempt", "verify", "--output", output()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Outcome verify(Words more) const {
    more.insert(more.begin(), "--virtual-gpu");
    return vgpu::server::run(words(more));
  }
  static Words with(Words first, const Words& more) {
    first.insert(first.end(), more.begin(), more.end());
    return first;
  }
  static Words vgpu(const Words& more) { return with({GPREEMPT_BIN_DIR "/vgpu"}, more); }
  // Of the run that has just ended.
  json criteria() const {
    return json::parse(std::ifstream(output() + "/results.json")).at("criteria");
  }
  // The criteria of a step with this text, as "value unjudged".
  std::vector<json> find(const std::string& step, const std::string& what) const {
    std::vector<json> found;
    for (const json& each : criteria()) {
      if (each.at("scenario") == step &&
          each.at("what").get<std::string>().find(what) != std::string::npos) {
        found.push_back(each);
      }
    }
    return found;
  }
  static bool is_met(const json& criterion) {
    if (criterion.at("value").is_null()) {
      return false;
    }
    const double value = criterion.at("value"), limit = criterion.at("limit");
    return criterion.at("at_least").get<bool>() ? value >= limit : value <= limit;
  }
  void expect_met(const std::string& step, const std::string& what) const {
    const auto found = find(step, what);
    EXPECT_FALSE(found.empty()) << step << ": " << what << " in " << criteria().dump(1);
    for (const json& each : found) {
      EXPECT_TRUE(is_met(each)) << each;
    }
  }
  bool is_not_possible(const std::string& step, const std::string& what) const {
    const auto found = find(step, what);
    return !found.empty() && found.front().at("unjudged") == "not possible";
  }
};

}  // namespace gp::verify
