#include "bench/held_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace gp::bench {
namespace {

using namespace std::chrono_literals;
constexpr int kQuickLooks = 200;

}  // namespace

Result<HeldJob> HeldJob::of(const demo::Scheduler& scheduler, const demo::Waiter& waiter,
                            demo::Child& program, std::chrono::nanoseconds hold) {
  return HeldJob(scheduler, waiter, program, TRY(wire::Client::connect(scheduler.socket())), hold);
}

Result<double> HeldJob::stop() {
  wire::Suspend request;
  request.pid = static_cast<u32>(program_.pid());
  request.duration_ns = static_cast<u64>(hold_.count());
  const auto begin = std::chrono::steady_clock::now();
  TRY(client_.ask(request));
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
      .count();
}

Status HeldJob::start() {
  wire::Resume request;
  request.pid = static_cast<u32>(program_.pid());
  TRY(client_.ask(request));
  const auto runs = [&] {
    const auto now = view();
    return now && now->state == "running";
  };
  for (int look = 0; look < kQuickLooks; ++look) {  // mostly it takes less than the waiter's tick
    if (runs()) {
      return ok();
    }
  }
  const Status again =
      waiter_.wait("the job to run again", {&program_}, runs,
                   std::max<std::chrono::milliseconds>(
                       std::chrono::duration_cast<std::chrono::milliseconds>(hold_), 30s));
  if (again || again.error().code != ETIMEDOUT) {
    return again;
  }
  const auto now = view();
  return Error{ETIMEDOUT,
               fmt::format("the job does not run again: {}",
                           now ? fmt::format("it is {}, by {}", now->state, now->mechanism)
                               : now.error().message()),
               "is the machine very busy?"};
}

Result<JobView> HeldJob::view() const {
  const DaemonView all = TRY(look_at(scheduler_));
  if (const JobView* job = all.job_of(program_.pid())) {
    return *job;
  }
  return Error{ENOENT, "the daemon does not know the job any more", ""};
}

}  // namespace gp::bench
