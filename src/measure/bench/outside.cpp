// Online work without an agent, whose rings the daemon reads: how soon it knows, and what it costs
// to look a thousand times a second.
#include <fmt/format.h>
#include <time.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "bench/criteria.h"
#include "bench/daemon_view.h"
#include "bench/scenario.h"
#include "client/client.h"

namespace gp::bench {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr const char* kReading = "read_rings = true\n";
constexpr unsigned kQueues = 8;

// When the daemon learnt that online work had begun, in microseconds of CLOCK_MONOTONIC.
Result<std::vector<double>> beginnings(const demo::Scheduler& scheduler) {
  auto client = TRY(wire::Client::connect(scheduler.socket()));
  std::istringstream lines(TRY(client.text(wire::Kind::trace)));
  std::vector<double> times;
  try {
    for (std::string line; std::getline(lines, line);) {
      const json event = json::parse(line);
      if (event.at("event") == "busy" && event.at("class") == "online") {
        times.push_back(event.at("time_us").get<double>());
      }
    }
  } catch (const json::exception& exception) {
    return Error{EPROTO, exception.what(), "gpreempt and gpreemptd may be of different versions"};
  }
  return times;
}

// From the moment for which a request was meant to the daemon's knowing, for those that came when
// the one before was answered: the program's own wake-up and launch are in it.
std::vector<double> notices_us(const demo::Serving& serving, const std::vector<double>& known_us) {
  std::vector<double> notices;
  double answered_us = 0;
  std::size_t next = 0;
  for (const demo::Request& request : serving.requests) {
    const auto arrival_us = static_cast<double>(serving.start_us + request.arrival_us);
    const double end_us = arrival_us + static_cast<double>(request.latency_us);
    while (next < known_us.size() && known_us[next] < arrival_us) {
      ++next;
    }
    if (next < known_us.size() && answered_us < arrival_us && known_us[next] < end_us) {
      notices.push_back(known_us[next] - arrival_us);
    }
    answered_us = std::max(answered_us, end_us);
  }
  return notices;
}

// What the threads that read rings have taken of the CPUs, in nanoseconds. Empty: there are none.
std::optional<double> reader_time_ns(pid_t daemon) {
  std::optional<double> time;
  std::error_code error;
  const std::filesystem::directory_iterator tasks(fmt::format("/proc/{}/task", daemon), error);
  for (const auto& task : tasks) {
    std::string name;
    double on_cpu_ns = 0;
    if (std::ifstream(task.path() / "comm") >> name && name == "rings" &&
        std::ifstream(task.path() / "schedstat") >> on_cpu_ns) {
      time = time.value_or(0) + on_cpu_ns;
    }
  }
  return time;
}

// What part of a core they take, from now on.
class ReaderMeter {
 public:
  explicit ReaderMeter(pid_t daemon) : daemon_(daemon), before_ns_(reader_time_ns(daemon)) {}
  std::optional<double> percent() const {
    const auto after_ns = reader_time_ns(daemon_);
    const std::chrono::duration<double, std::nano> lasted = Clock::now() - begin_;
    return before_ns_ && after_ns ? std::optional(100 * (*after_ns - *before_ns_) / lasted.count())
                                  : std::nullopt;
  }

 private:
  using Clock = std::chrono::steady_clock;
  const pid_t daemon_;
  const std::optional<double> before_ns_;
  const Clock::time_point begin_ = Clock::now();
};

// The same for a thread that does nothing but wake up a thousand times a second.
double bare_percent() {
  constexpr int kTimes = 500;
  const auto cpu_ns = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  };
  const double before = cpu_ns();
  for (int i = 0; i < kTimes; ++i) {
    std::this_thread::sleep_for(1ms);
  }
  return 100 * (cpu_ns() - before) / (kTimes * 1e6);
}

struct Notices {
  std::vector<double> us;
  std::size_t requests = 0;
  std::optional<double> percent, bare;  // of a core
};

Status wait_for_reader(const Context& context, pid_t daemon, demo::Child& online) {
  return context.launcher.waiter().wait("its rings to be read", {&online},
                                        [&] { return reader_time_ns(daemon).has_value(); });
}

Result<Notices> measure_notices(const Context& context, bool agent) {
  const milliseconds interval = 12ms, duration = context.lasting(4s, 30s);
  const demo::Scheduler scheduler = TRY(context.launcher.daemon(kReading));
  demo::Child trainer = TRY(context.launcher.trainer({&scheduler, "trainer", one_work_group()}));
  Workload workload{&scheduler, "server", requests_every(interval, duration)};
  workload.agent = agent;
  demo::Child server = TRY(context.launcher.server(workload));
  const pid_t daemon = TRY(look_at(scheduler)).daemon;
  Notices notices;
  std::optional<ReaderMeter> meter;
  if (!agent) {
    TRY(wait_for_reader(context, daemon, server));
    meter.emplace(daemon);
    TRY(context.launcher.wait(duration / 2, {&server}));
    notices.percent = meter->percent();
    notices.bare = bare_percent();
  }
  const demo::Serving serving = TRY(context.launcher.served(server, {&trainer}));
  notices.us = notices_us(serving, TRY(beginnings(scheduler)));
  notices.requests = serving.requests.size();
  return notices;
}

// Of a program with so many queues that is always busy.
struct Cost {
  std::optional<double> percent;
  bool ends = false;  // with the offline work
};

Result<Cost> measure_cost(const Context& context) {
  const demo::Scheduler scheduler = TRY(context.launcher.daemon(kReading));
  const pid_t daemon = TRY(look_at(scheduler)).daemon;
  Workload workload{&scheduler, "online", trainer_with(kQueues)};
  workload.environment = {{"GPU_MAX_HW_QUEUES", std::to_string(kQueues)}};
  workload.agent = false;
  workload.work_class = "online";
  Cost cost;
  std::optional<demo::Child> online;
  {
    const demo::Child trainer =
        TRY(context.launcher.trainer({&scheduler, "trainer", one_work_group()}));
    online.emplace(TRY(context.launcher.trainer(workload)));
    TRY(wait_for_reader(context, daemon, *online));
    const ReaderMeter meter(daemon);
    TRY(context.launcher.wait(context.lasting(3s, 30s), {&*online}));
    cost.percent = meter.percent();
  }  // the trainer is killed
  TRY(context.launcher.waiter().wait("nothing to be read any more", {&*online},
                                     [&] { return !reader_time_ns(daemon).has_value(); }));
  cost.ends = true;
  return cost;
}

}  // namespace

Result<Outcome> run_outside(const Context& context) {
  const Notices seen = TRY(measure_notices(context, false));
  const Notices told = TRY(measure_notices(context, true));
  const Cost cost = TRY(measure_cost(context));

  Outcome outcome;
  auto notice = at_most("outside", "a request's arrival to the daemon's knowing, p50", 1000, "us",
                        demo::quantile(seen.us, 0.5));
  notice.note =
      fmt::format("p99 {}; by an agent {} / {}; {} of {} requests",
                  report::format_us(demo::quantile(seen.us, 0.99)),
                  report::format_us(demo::quantile(told.us, 0.5)),
                  report::format_us(demo::quantile(told.us, 0.99)), seen.us.size(), seen.requests);
  // A machine that takes more than that for wake-ups alone cannot show less.
  const double limit = std::max(0.5, 2 * seen.bare.value_or(0));
  auto urgent =
      at_most("outside", "reading rings between requests, of a core", limit, "%", seen.percent);
  urgent.note = fmt::format("as many bare wake-ups take {:.2f} % here", seen.bare.value_or(0));
  outcome.criteria = {
      std::move(notice), std::move(urgent),
      at_most("outside", "reading those of 8 busy queues, of a core", limit, "%", cost.percent),
      holds("outside", "nothing is read once nobody could be stopped", cost.ends)};
  return outcome;
}

}  // namespace gp::bench
