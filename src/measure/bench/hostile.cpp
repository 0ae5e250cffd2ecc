// Somebody floods the daemon with all it takes: do others notice? Each flood is one user's, who has
// no job here; the others are an online and an offline program and somebody who asks for the
// status.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <thread>

#include "bench/criteria.h"
#include "bench/daemon_view.h"
#include "bench/floods.h"
#include "bench/scenario.h"
#include "client/client.h"
#include "demo/summary.h"

namespace gp::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr double kStatusMs = 5, kNoticeTimes = 2;

// Asks for the status again and again, as a user does who watches it closely.
class StatusWatcher {
 public:
  explicit StatusWatcher(const std::string& socket) : thread_([this, socket] { run(socket); }) {}
  ~StatusWatcher() {
    ending_ = true;
    thread_.join();
  }
  StatusWatcher(const StatusWatcher&) = delete;
  StatusWatcher& operator=(const StatusWatcher&) = delete;
  // In milliseconds, when it has ended; empty if there was no answer.
  std::vector<double> take() {
    ending_ = true;
    thread_.join();
    thread_ = std::thread([] {});
    return unanswered_ ? std::vector<double>{} : times_;
  }

 private:
  void run(const std::string& socket) {
    auto client = wire::Client::connect(socket);
    while (!ending_ && client) {
      const auto begin = Clock::now();
      if (!client->text(wire::Kind::status)) {
        unanswered_ = true;
        return;
      }
      times_.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
      std::this_thread::sleep_for(15ms);  // the daemon takes 100 such requests a second of one
    }
    unanswered_ = !client;
  }
  std::atomic<bool> ending_ = false;
  bool unanswered_ = false;
  std::vector<double> times_;
  std::thread thread_;
};

struct Measured {
  std::optional<double> status_p99_ms;
  Spread notice;
  double attacks_per_second = 0;
};

Result<Measured> measure(const Context& context, std::optional<Flood> flood) {
  const milliseconds interval = 12ms, duration = context.lasting(2s, 20s);
  const demo::Scheduler scheduler = TRY(context.launcher.daemon());
  demo::Child trainer = TRY(context.launcher.trainer({&scheduler, "trainer", one_work_group()}));
  std::optional<Attack> attack;
  if (flood) {
    attack.emplace(TRY(Attack::start(*flood, scheduler.socket())));
  }
  const auto begin = Clock::now();
  const u64 before = attack ? attack->sent() : 0;
  StatusWatcher watcher(scheduler.socket());
  demo::Child server =
      TRY(context.launcher.server({&scheduler, "server", requests_every(interval, duration)}));
  TRY(context.launcher.served(server, {&trainer}));
  Measured measured;
  measured.status_p99_ms = demo::quantile(watcher.take(), 0.99);
  if (attack) {
    measured.attacks_per_second = static_cast<double>(attack->sent() - before) /
                                  std::chrono::duration<double>(Clock::now() - begin).count();
  }
  measured.notice = TRY(look_at(scheduler)).notify_to_ioctl;
  return measured;
}

}  // namespace

Result<Outcome> run_hostile(const Context& context) {
  if (!Attack::is_possible()) {
    return Error{EPERM, "attackers are processes of another user", "run it as root"};
  }
  const Measured before = TRY(measure(context, std::nullopt));
  std::vector<Measured> attacked;
  for (const NamedFlood& each : floods()) {
    attacked.push_back(TRY(measure(context, each.flood)));
  }
  const Measured after = TRY(measure(context, std::nullopt));
  const auto noise = apart(before.notice.p99, after.notice.p99);
  const auto quiet = mean(before.notice.p99, after.notice.p99);

  Outcome outcome;
  auto status = at_most("hostile", "status p99, nobody attacks", kStatusMs, "ms",
                        mean(before.status_p99_ms, after.status_p99_ms));
  status.note = fmt::format("notice p99 {}", report::format_us(quiet));
  outcome.criteria.push_back(std::move(status));
  for (std::size_t i = 0; i < attacked.size(); ++i) {
    const char* name = floods()[i].name;
    auto others = at_most("hostile", fmt::format("status p99 under {}", name), kStatusMs, "ms",
                          attacked[i].status_p99_ms);
    others.note = fmt::format("{:.0f} sent per second", attacked[i].attacks_per_second);
    outcome.criteria.push_back(std::move(others));
    auto notice = at_most("hostile", fmt::format("notice p99 under {} over quiet", name),
                          std::max(kNoticeTimes, noise.value_or(0)), "x",
                          report::ratio(attacked[i].notice.p99, quiet));
    notice.noise = noise;
    notice.note = fmt::format("{} against {}; {} stops", report::format_us(attacked[i].notice.p99),
                              report::format_us(quiet), attacked[i].notice.count);
    outcome.criteria.push_back(std::move(notice));
  }
  return outcome;
}

}  // namespace gp::bench
