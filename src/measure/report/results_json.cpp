#include "report/report.h"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <type_traits>

#include "report/results.h"

namespace gp::report {

// The fields of results.json, listed once: fields(visit, object) calls visit(key, member) for each,
// for reading and for writing alike.

// The type asked for, const or not.
template <class T, class Wanted>
concept Is = std::is_same_v<std::remove_const_t<T>, Wanted>;

template <class Visit, Is<Environment> T>
void fields(Visit&& visit, T& environment) {
  visit("virtual_gpu", environment.virtual_gpu);
  visit("device", environment.device);
  visit("cpu", environment.cpu);
  visit("cores", environment.cores);
  visit("kernel", environment.kernel);
  visit("rocm", environment.rocm);
  visit("gpreempt_version", environment.gpreempt_version);
  visit("date", environment.date);
  visit("command", environment.command);
}

template <class Visit, Is<Span> T>
void fields(Visit&& visit, T& span) {
  visit("track", span.track);
  visit("what", span.what);
  visit("start_us", span.start_us);
  visit("end_us", span.end_us);
}

template <class Visit, Is<OtherPrograms> T>
void fields(Visit&& visit, T& others) {
  visit("cpu_s", others.cpu_s);
  visit("elapsed_s", others.elapsed_s);
  visit("cpus", others.cpus);
  visit("waiting_s", others.waiting_s);
}

template <class Visit, Is<Round> T>
void fields(Visit&& visit, T& round) {
  visit("requests", round.requests);
  visit("duration_s", round.duration_s);
  visit("offline_steps_per_s", round.offline_steps_per_s);
  visit("others", round.others);
}

template <class Visit, Is<Tokens> T>
void fields(Visit&& visit, T& tokens) {
  visit("first_ms", tokens.first_ms);
  visit("next_ms", tokens.next_ms);
  visit("texts_equal", tokens.texts_equal);
}

template <class Visit, Is<Phase> T>
void fields(Visit&& visit, T& phase) {
  visit("name", phase.name);
  visit("online_latency_ms", phase.online_latency_ms);
  visit("online_arrival_ms", phase.online_arrival_ms);
  visit("offline_steps_per_s", phase.offline_steps_per_s);
  visit("preemptions", phase.preemptions);
  visit("checksum_ok", phase.checksum_ok);
  visit("duration_s", phase.duration_s);
  visit("timeline", phase.timeline);
  visit("rounds", phase.rounds);
  visit("tokens", phase.tokens);
  visit("others", phase.others);
}

template <class Visit, Is<Criterion> T>
void fields(Visit&& visit, T& criterion) {
  visit("scenario", criterion.scenario);
  visit("what", criterion.what);
  visit("unit", criterion.unit);
  visit("limit", criterion.limit);
  visit("at_least", criterion.at_least);
  visit("value", criterion.value);
  visit("noise", criterion.noise);
  visit("note", criterion.note);
  visit("others", criterion.others);
  visit("unjudged", criterion.unjudged);
}

template <class Visit, Is<Scheme> T>
void fields(Visit&& visit, T& scheme) {
  visit("mechanism", scheme.mechanism);
  visit("level", scheme.level);
  visit("queues", scheme.queues);
  visit("stop_p50_us", scheme.stop_p50_us);
  visit("stop_p99_us", scheme.stop_p99_us);
  visit("start_p50_us", scheme.start_p50_us);
  visit("start_p99_us", scheme.start_p99_us);
  visit("online_p50_ms", scheme.online_p50_ms);
  visit("online_p99_ms", scheme.online_p99_ms);
  visit("offline_steps_per_s", scheme.offline_steps_per_s);
  visit("note", scheme.note);
  visit("low_over_high", scheme.low_over_high);
}

template <class Visit, Is<BatchWay> T>
void fields(Visit&& visit, T& way) {
  visit("mechanism", way.mechanism);
  visit("call_for", way.call_for);
  visit("calls", way.calls);
  visit("stop_p50_us", way.stop_p50_us);
  visit("stop_p99_us", way.stop_p99_us);
  visit("start_p50_us", way.start_p50_us);
  visit("start_p99_us", way.start_p99_us);
  visit("stop_unmaps", way.stop_unmaps);
  visit("start_unmaps", way.start_unmaps);
  visit("note", way.note);
}

template <class Visit, Is<Batching> T>
void fields(Visit&& visit, T& batching) {
  visit("processes", batching.processes);
  visit("queues", batching.queues);
  visit("ways", batching.ways);
}

template <class Visit, Is<ReservedRun> T>
void fields(Visit&& visit, T& run) {
  visit("reserved_slots", run.reserved_slots);
  visit("online_p50_ms", run.online_p50_ms);
  visit("online_p99_ms", run.online_p99_ms);
  visit("slots_used", run.slots_used);
}

template <class Visit, Is<Reservation> T>
void fields(Visit&& visit, T& reservation) {
  visit("slots", reservation.slots);
  visit("queues", reservation.queues);
  visit("runs", reservation.runs);
  visit("note", reservation.note);
}

template <class Visit, Is<LingerRun> T>
void fields(Visit&& visit, T& run) {
  visit("linger", run.linger);
  visit("online_p50_ms", run.online_p50_ms);
  visit("online_max_ms", run.online_max_ms);
  visit("stops_per_request", run.stops_per_request);
  visit("offline_kept", run.offline_kept);
  visit("best_fixed", run.best_fixed);
}

template <class Visit, Is<Results> T>
void fields(Visit&& visit, T& results) {
  visit("environment", results.environment);
  visit("interrupted", results.interrupted);
  visit("phases", results.phases);
  visit("criteria", results.criteria);
  visit("schemes", results.schemes);
  visit("batching", results.batching);
  visit("reservation", results.reservation);
  visit("lingers", results.lingers);
}

namespace {

using Json = nlohmann::ordered_json;
constexpr u64 kSchemaVersion = 1;

// Walks the objects in one of the two directions and remembers where it is, so that an error can
// name the place. After the first error it only finishes the walk.
class Walk {
 public:
  const Result<Unit>& status() const { return status_; }

 protected:
  void fail(const std::string& what) {
    if (status_) {
      status_ = Error{EBADMSG, fmt::format("{} {}", place_.empty() ? "the whole" : place_, what),
                      "this is no file of gpreempt, or one that was damaged"};
    }
  }
  // Calls `go_on` with the place extended by `step`.
  template <class GoOn>
  void at(const std::string& step, GoOn go_on) {
    const std::size_t length = place_.size();
    place_ += place_.empty() && step.starts_with('.') ? step.substr(1) : step;
    go_on();
    place_.resize(length);
  }

 private:
  Status status_ = ok();
  std::string place_;
};

class Writer : public Walk {
 public:
  template <class T>
  Json write(const T& value) {
    if constexpr (std::is_same_v<T, double>) {
      if (!std::isfinite(value)) {
        fail("is not a finite number");
      }
      return value;
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else {
      Json object = Json::object();
      fields(
          [&](const char* key, const auto& member) {
            at(fmt::format(".{}", key), [&] { object[key] = write(member); });
          },
          value);
      return object;
    }
  }
  template <class T>
  Json write(const std::optional<T>& value) {
    return value ? write(*value) : Json();
  }
  template <class T>
  Json write(const std::vector<T>& values) {
    Json array = Json::array();
    for (std::size_t i = 0; i < values.size(); ++i) {
      at(fmt::format("[{}]", i), [&] { array.push_back(write(values[i])); });
    }
    return array;
  }
};

// What an older gpreempt did not measure yet: what may be unknown, and rounds and lingers, of which
// it had none.
template <class T>
constexpr bool may_be_missing(const T&) {
  return false;
}
template <class T>
constexpr bool may_be_missing(const std::optional<T>&) {
  return true;
}
constexpr bool may_be_missing(const std::vector<Round>&) { return true; }
constexpr bool may_be_missing(const std::vector<LingerRun>&) { return true; }

class Reader : public Walk {
 public:
  template <class T>
  void read(const Json& json, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      json.is_boolean() ? void(value = json.get<bool>()) : fail("is not true or false");
    } else if constexpr (std::is_same_v<T, std::string>) {
      json.is_string() ? void(value = json.get<std::string>()) : fail("is not a text");
    } else if constexpr (std::is_same_v<T, double>) {
      json.is_number() ? void(value = json.get<double>()) : fail("is not a number");
    } else if constexpr (std::is_integral_v<T>) {
      read_whole(json, value);
    } else {
      read_object(json, value);
    }
  }
  template <class T>
  void read(const Json& json, std::optional<T>& value) {
    if (!json.is_null()) {
      read(json, value.emplace());
    }
  }
  template <class T>
  void read(const Json& json, std::vector<T>& values) {
    if (!json.is_array()) {
      return fail("is not a list");
    }
    values.resize(json.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      at(fmt::format("[{}]", i), [&] { read(json[i], values[i]); });
    }
  }
  void must(bool holds, const std::string& place, const std::string& what) {
    if (!holds) {
      at(place, [&] { fail(what); });
    }
  }

 private:
  template <class T>
  void read_whole(const Json& json, T& value) {
    const bool fits = json.is_number_unsigned()
                          ? json.get<u64>() <= static_cast<u64>(std::numeric_limits<T>::max())
                          : json.is_number_integer() && std::is_signed_v<T> &&
                                json.get<i64>() >= static_cast<i64>(std::numeric_limits<T>::min());
    fits ? void(value = json.get<T>()) : fail("is not a whole number in range");
  }
  template <class T>
  void read_object(const Json& json, T& value) {
    if (!json.is_object()) {
      return fail("is not an object");
    }
    fields(
        [&](const char* key, auto& member) {
          at(fmt::format(".{}", key), [&] {
            const auto found = json.find(key);
            if (found != json.end()) {
              read(*found, member);
            } else if (!may_be_missing(member)) {
              fail("is missing");
            }
          });
        },
        value);
  }
};

u64 requests_of(const std::vector<Round>& rounds) {
  return std::accumulate(rounds.begin(), rounds.end(), u64{0},
                         [](u64 sum, const Round& round) { return sum + round.requests; });
}

void check(Reader& reader, const Results& results) {
  for (std::size_t i = 0; i < results.phases.size(); ++i) {
    const Phase& phase = results.phases[i];
    reader.must(phase.online_arrival_ms.size() == phase.online_latency_ms.size(),
                fmt::format("phases[{}].online_arrival_ms", i),
                "is not as long as online_latency_ms");
    reader.must(phase.rounds.empty() || requests_of(phase.rounds) == phase.online_latency_ms.size(),
                fmt::format("phases[{}].rounds", i), "do not have all requests");
    for (std::size_t j = 0; j < phase.timeline.size(); ++j) {
      reader.must(phase.timeline[j].start_us <= phase.timeline[j].end_us,
                  fmt::format("phases[{}].timeline[{}]", i, j), "ends before it starts");
    }
  }
}

}  // namespace

Result<std::string> to_json(const Results& results) {
  Writer writer;
  Json json = {{"schema_version", kSchemaVersion}};
  json.update(writer.write(results));
  if (!writer.status()) {
    const Error& error = writer.status().error();
    return Error{EDOM, error.what, ""};
  }
  // A command may hold bytes that are no UTF-8: they become U+FFFD.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Results> from_json(std::string_view text) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    return Error{EBADMSG, fmt::format("no JSON: {}", error.what()),
                 "this is no file of gpreempt, or one that was damaged"};
  }
  const Json version = json.is_object() ? json.value("schema_version", Json()) : Json();
  if (version.is_number_unsigned() && version.get<u64>() > kSchemaVersion) {
    return Error{EBADMSG,
                 fmt::format("schema_version is {}, at most {} is known here", version.get<u64>(),
                             kSchemaVersion),
                 "it was made by a newer gpreempt: use that one"};
  }
  Reader reader;
  reader.must(version == Json(kSchemaVersion), "schema_version",
              fmt::format("is not {}", kSchemaVersion));
  Results results;
  reader.read(json, results);
  check(reader, results);
  if (!reader.status()) {
    return reader.status().error();
  }
  return results;
}

}  // namespace gp::report
