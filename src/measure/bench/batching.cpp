#include "bench/batching.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>

#include "bench/device_counts.h"
#include "demo/summary.h"
#include "discover/discover.h"
#include "mechanism/mechanism.h"
#include "os/os.h"

namespace gp::bench {
namespace {

using mechanism::Attachment;

constexpr unsigned kProcesses = 5, kQueuesEach = 2;

// One process and those of its queues that are stopped.
struct Target {
  std::unique_ptr<Attachment> attachment;
  std::vector<u32> queue_ids;
};
using Targets = std::vector<Target>;

// How the calls are made. The number of queues is the same in each.
struct CallPattern {
  Mechanism mechanism;
  std::string_view call_for;
  Status (*stop)(Targets& targets);
  Status (*start)(Targets& targets);
};

Status stop_queues(Targets& targets) {
  for (Target& target : targets) {
    for (const u32& id : target.queue_ids) {
      TRY(target.attachment->stop({&id, 1}, {}));
    }
  }
  return ok();
}

Status start_queues(Targets& targets) {
  for (Target& target : targets) {
    for (const u32& id : target.queue_ids) {
      TRY(target.attachment->start({&id, 1}));
    }
  }
  return ok();
}

Status stop_processes(Targets& targets) {
  for (Target& target : targets) {
    TRY(target.attachment->stop(target.queue_ids, {}));
  }
  return ok();
}

Status start_processes(Targets& targets) {
  for (Target& target : targets) {
    TRY(target.attachment->start(target.queue_ids));
  }
  return ok();
}

std::vector<mechanism::AttachedQueues> queues_of(const Targets& targets) {
  std::vector<mechanism::AttachedQueues> queues;
  for (const Target& target : targets) {
    queues.push_back({target.attachment.get(), target.queue_ids});
  }
  return queues;
}

Status stop_together(Targets& targets) {
  const auto swapped = targets.front().attachment->batch()->swap(queues_of(targets), {}, {});
  for (const auto& stopped : swapped.stopped) {
    TRY(stopped);
  }
  return ok();
}

Status start_together(Targets& targets) {
  const auto swapped = targets.front().attachment->batch()->swap({}, queues_of(targets), {});
  for (const Status& started : swapped.started) {
    TRY(started);
  }
  return ok();
}

constexpr CallPattern kPatterns[] = {
    {Mechanism::debugger, report::kCallPerQueue, stop_queues, start_queues},
    {Mechanism::debugger, report::kCallPerProcess, stop_processes, start_processes},
    {Mechanism::kernel, report::kCallPerQueue, stop_queues, start_queues},
    {Mechanism::kernel, report::kCallPerProcess, stop_processes, start_processes},
    {Mechanism::kernel, report::kOneCall, stop_together, start_together},
};

// Of the queues a runtime makes (streams, copies, the default stream), so many for compute.
Result<std::vector<u32>> compute_queues(const ProcessKey& key) {
  const auto snapshot = TRY(discover::take_snapshot(system_os(), {}, {}, {.debugfs = false}));
  std::vector<u32> ids;
  if (const discover::Process* process = discover::find_process(snapshot, key.pid)) {
    for (const discover::Queue& queue : process->queues) {
      if (queue.type == discover::QueueType::compute && queue.queue_id &&
          ids.size() < kQueuesEach) {
        ids.push_back(*queue.queue_id);
      }
    }
  }
  if (ids.size() < kQueuesEach) {
    return Error{ENOENT, fmt::format("pid {} has {} compute queues", key.pid, ids.size()), ""};
  }
  return ids;
}

Result<Targets> attach_all(Mechanism id, const std::vector<demo::Child>& programs) {
  mechanism::AttachOptions options;
  if (id == Mechanism::kernel) {
    options.kernel_session = mechanism::make_kernel_session(options);
  }
  Targets targets;
  for (const demo::Child& program : programs) {
    const auto key = TRY(discover::process_key(system_os(), {}, program.pid()));
    targets.push_back({TRY(mechanism::attach(id, key, options)), TRY(compute_queues(key))});
  }
  return targets;
}

struct Times {  // microseconds
  std::vector<double> stop, start;
};

template <class Call>
Result<double> microseconds_of(Call call) {
  const auto begin = std::chrono::steady_clock::now();
  TRY(call());
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
      .count();
}

Status measure_once(const CallPattern& pattern, Targets& targets, Times& times) {
  times.stop.push_back(TRY(microseconds_of([&] { return pattern.stop(targets); })));
  times.start.push_back(TRY(microseconds_of([&] { return pattern.start(targets); })));
  return ok();
}

void summarise(const Times& times, report::BatchWay& way) {
  way.stop_p50_us = demo::quantile(times.stop, 0.5);
  way.stop_p99_us = demo::quantile(times.stop, 0.99);
  way.start_p50_us = demo::quantile(times.start, 0.5);
  way.start_p99_us = demo::quantile(times.start, 0.99);
}

// Once more, for the counts alone: nothing else changes what is mapped meanwhile.
Status count_unmaps(const Context& context, const CallPattern& pattern, Targets& targets,
                    report::BatchWay& way) {
  if (!context.virtual_gpu) {
    return ok();
  }
  const u64 before = TRY(device_unmaps(context.launcher));
  TRY(pattern.stop(targets));
  const u64 stopped = TRY(device_unmaps(context.launcher));
  TRY(pattern.start(targets));
  way.stop_unmaps = stopped - before;
  way.start_unmaps = TRY(device_unmaps(context.launcher)) - stopped;
  return ok();
}

u32 calls_of(const CallPattern& pattern) {
  constexpr u32 queues = kProcesses * kQueuesEach;
  return pattern.call_for == report::kCallPerQueue     ? queues
         : pattern.call_for == report::kCallPerProcess ? kProcesses
                                                       : 1;
}

// One mechanism in all its patterns, which take turns: what disturbs the machine disturbs them all.
Status compare(const Context& context, std::span<const CallPattern> patterns, Targets& targets,
               report::Batching& batching) {
  const int rounds = context.extent == Extent::full ? 500 : 40;
  std::vector<Times> times(patterns.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      TRY(measure_once(patterns[i], targets, times[i]));
    }
  }
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    report::BatchWay way;
    way.mechanism = info_of(patterns[i].mechanism).name;
    way.call_for = patterns[i].call_for;
    way.calls = calls_of(patterns[i]);
    summarise(times[i], way);
    TRY(count_unmaps(context, patterns[i], targets, way));
    batching.ways.push_back(std::move(way));
  }
  return ok();
}

Result<std::vector<demo::Child>> start_programs(const Context& context) {
  std::vector<demo::Child> programs;
  for (unsigned i = 0; i < kProcesses; ++i) {
    Workload workload{nullptr, fmt::format("trainer{}", i), trainer_with(kQueuesEach)};
    workload.environment["GPU_MAX_HW_QUEUES"] = std::to_string(kQueuesEach);
    workload.debuggable = true;
    programs.push_back(TRY(context.launcher.trainer(workload)));
  }
  return programs;
}

}  // namespace

Result<report::Batching> compare_batching(const Context& context) {
  const std::vector<demo::Child> programs = TRY(start_programs(context));
  report::Batching batching;
  batching.processes = kProcesses;
  batching.queues = kProcesses * kQueuesEach;
  for (const Mechanism id : {Mechanism::debugger, Mechanism::kernel}) {
    std::vector<CallPattern> patterns;
    std::ranges::copy_if(kPatterns, std::back_inserter(patterns),
                         [&](const CallPattern& pattern) { return pattern.mechanism == id; });
    auto targets = attach_all(id, programs);
    const Status compared =
        targets ? compare(context, patterns, *targets, batching) : Status(targets.error());
    if (!compared && compared.error().code == EINTR) {
      return compared.error();
    }
    if (!compared) {
      report::BatchWay missing;
      missing.mechanism = info_of(id).name;
      missing.note = compared.error().message();
      batching.ways.push_back(std::move(missing));
    }
  }
  return batching;
}

}  // namespace gp::bench
