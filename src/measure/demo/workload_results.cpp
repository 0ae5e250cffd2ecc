#include "demo/workload_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

namespace gp::demo {
namespace {

using nlohmann::json;

// The library reports missing and wrong fields by exceptions: they end here.
template <class Read>
auto read_json(const std::string& path, Read read) -> Result<decltype(read(json()))> {
  std::ifstream file(path);
  if (!file) {
    return Error{errno, fmt::format("read {}", path), ""};
  }
  try {
    return read(json::parse(file));
  } catch (const json::exception& exception) {
    return Error{EPROTO, fmt::format("{}: {}", path, exception.what()),
                 "gpreempt and its workloads may be of different versions"};
  }
}

}  // namespace

u64 Serving::end_us() const {
  u64 end = start_us;
  for (const Request& request : requests) {
    end = std::max(end, start_us + request.arrival_us + request.latency_us);
  }
  return end;
}

Result<Training> read_training(const std::string& path) {
  return read_json(path, [](const json& file) {
    Training training;
    training.start_us = file.at("start_us").get<u64>();
    for (const json& point : file.at("trail")) {
      training.trail.push_back({point.at("step").get<u64>(), point.at("time_us").get<u64>(),
                                point.at("checksum").get<std::string>()});
    }
    return training;
  });
}

Result<Serving> read_serving(const std::string& path) {
  return read_json(path, [](const json& file) {
    Serving serving;
    serving.start_us = file.at("start_us").get<u64>();
    serving.hip_runtime = file.value("hip_runtime", "");
    for (const json& request : file.at("requests")) {
      serving.requests.push_back(
          {request.at("arrival_us").get<u64>(), request.at("latency_us").get<u64>(),
           request.value("token_us", std::vector<u64>()),
           request.value("tokens", std::vector<i64>()), request.value("text", "")});
    }
    return serving;
  });
}

std::optional<bool> same_answers(const Serving& serving, const Serving& undisturbed) {
  const std::size_t both = std::min(serving.requests.size(), undisturbed.requests.size());
  std::optional<bool> same;
  for (std::size_t i = 0; i < both; ++i) {
    const Request &one = serving.requests[i], &other = undisturbed.requests[i];
    if (!one.token_us.empty()) {
      same = same.value_or(true) && one.text == other.text && one.tokens == other.tokens;
    }
  }
  return same;
}

std::optional<double> steps_per_second(const Training& training, u64 from_us, u64 to_us) {
  const TrailPoint *first = nullptr, *last = nullptr;
  for (const TrailPoint& point : training.trail) {
    if (point.time_us >= from_us && point.time_us <= to_us) {
      first = first == nullptr ? &point : first;
      last = &point;
    }
  }
  if (first == last || last->time_us == first->time_us) {
    return std::nullopt;
  }
  return 1e6 * static_cast<double>(last->step - first->step) /
         static_cast<double>(last->time_us - first->time_us);
}

std::optional<bool> same_results(const Training& training, const Training& undisturbed) {
  std::map<u64, std::string> expected;
  for (const TrailPoint& point : undisturbed.trail) {
    expected[point.step] = point.checksum;
  }
  std::optional<bool> same;
  for (const TrailPoint& point : training.trail) {
    if (const auto found = expected.find(point.step); found != expected.end()) {
      same = same.value_or(true) && found->second == point.checksum;
    }
  }
  return same;
}

}  // namespace gp::demo
