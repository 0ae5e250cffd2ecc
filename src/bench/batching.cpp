#include "bench/batching.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>

#include "bench/device_counts.h"
#include "demo/summary.h"
#include "discover/discover.h"
#include "kfd/os.h"
#include "mechanism/mechanism.h"

namespace gp::bench {
namespace {

using mechanism::Attachment;
using mechanism::Id;

constexpr unsigned kProcesses = 5, kQueuesEach = 2;

// One process and those of its queues that are stopped.
struct Victim {
  std::unique_ptr<Attachment> attachment;
  std::vector<u32> queue_ids;
};
using Victims = std::vector<Victim>;

// How the calls are made. The number of queues is the same in each.
struct Manner {
  Id mechanism;
  std::string_view call_for;
  Status (*stop)(Victims& victims);
  Status (*start)(Victims& victims);
};

Status stop_queues(Victims& victims) {
  for (Victim& victim : victims) {
    for (const u32& id : victim.queue_ids) {
      TRY(victim.attachment->stop({&id, 1}, {}));
    }
  }
  return ok();
}

Status start_queues(Victims& victims) {
  for (Victim& victim : victims) {
    for (const u32& id : victim.queue_ids) {
      TRY(victim.attachment->start({&id, 1}));
    }
  }
  return ok();
}

Status stop_processes(Victims& victims) {
  for (Victim& victim : victims) {
    TRY(victim.attachment->stop(victim.queue_ids, {}));
  }
  return ok();
}

Status start_processes(Victims& victims) {
  for (Victim& victim : victims) {
    TRY(victim.attachment->start(victim.queue_ids));
  }
  return ok();
}

std::vector<mechanism::AttachedQueues> queues_of(const Victims& victims) {
  std::vector<mechanism::AttachedQueues> queues;
  for (const Victim& victim : victims) {
    queues.push_back({victim.attachment.get(), victim.queue_ids});
  }
  return queues;
}

Status stop_together(Victims& victims) {
  for (const auto& stopped : victims.front().attachment->batch()->stop(queues_of(victims), {})) {
    TRY(stopped);
  }
  return ok();
}

Status start_together(Victims& victims) {
  for (const Status& started : victims.front().attachment->batch()->start(queues_of(victims))) {
    TRY(started);
  }
  return ok();
}

constexpr Manner kManners[] = {
    {Id::debugger, report::kCallPerQueue, stop_queues, start_queues},
    {Id::debugger, report::kCallPerProcess, stop_processes, start_processes},
    {Id::kernel, report::kCallPerQueue, stop_queues, start_queues},
    {Id::kernel, report::kCallPerProcess, stop_processes, start_processes},
    {Id::kernel, report::kOneCall, stop_together, start_together},
};

// Of the queues a runtime makes (streams, copies, the default stream), so many for compute.
Result<std::vector<u32>> compute_queues(const discover::ProcessKey& key) {
  const auto snapshot = TRY(discover::take_snapshot(kfd::system_os(), {}, {}, {.debugfs = false}));
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

Result<Victims> attach_all(Id id, const std::vector<demo::Child>& programs) {
  mechanism::AttachOptions options;
  if (id == Id::kernel) {
    options.kernel_session = mechanism::make_kernel_session(options);
  }
  Victims victims;
  for (const demo::Child& program : programs) {
    const auto key = TRY(discover::process_key(kfd::system_os(), {}, program.pid()));
    victims.push_back({TRY(mechanism::attach(id, key, options)), TRY(compute_queues(key))});
  }
  return victims;
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

Status measure_once(const Manner& manner, Victims& victims, Times& times) {
  times.stop.push_back(TRY(microseconds_of([&] { return manner.stop(victims); })));
  times.start.push_back(TRY(microseconds_of([&] { return manner.start(victims); })));
  return ok();
}

void summarise(const Times& times, report::BatchWay& way) {
  way.stop_p50_us = *demo::quantile(times.stop, 0.5);
  way.stop_p99_us = *demo::quantile(times.stop, 0.99);
  way.start_p50_us = *demo::quantile(times.start, 0.5);
  way.start_p99_us = *demo::quantile(times.start, 0.99);
}

// Once more, for the counts alone: nothing else changes what is mapped meanwhile.
Status count_unmaps(const Context& context, const Manner& manner, Victims& victims,
                    report::BatchWay& way) {
  if (!context.virtual_gpu) {
    return ok();
  }
  const u64 before = TRY(device_unmaps(context.actors));
  TRY(manner.stop(victims));
  const u64 stopped = TRY(device_unmaps(context.actors));
  TRY(manner.start(victims));
  way.stop_unmaps = stopped - before;
  way.start_unmaps = TRY(device_unmaps(context.actors)) - stopped;
  return ok();
}

u32 calls_of(const Manner& manner) {
  constexpr u32 queues = kProcesses * kQueuesEach;
  return manner.call_for == report::kCallPerQueue     ? queues
         : manner.call_for == report::kCallPerProcess ? kProcesses
                                                      : 1;
}

// One mechanism in all its manners, which take turns: what disturbs the machine disturbs them all.
Status compare(const Context& context, std::span<const Manner> manners, Victims& victims,
               report::Batching& batching) {
  const int rounds = context.extent == Extent::full ? 500 : 40;
  std::vector<Times> times(manners.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < manners.size(); ++i) {
      TRY(measure_once(manners[i], victims, times[i]));
    }
  }
  for (std::size_t i = 0; i < manners.size(); ++i) {
    report::BatchWay way;
    way.mechanism = mechanism::info(manners[i].mechanism).name;
    way.call_for = manners[i].call_for;
    way.calls = calls_of(manners[i]);
    summarise(times[i], way);
    TRY(count_unmaps(context, manners[i], victims, way));
    batching.ways.push_back(std::move(way));
  }
  return ok();
}

Result<std::vector<demo::Child>> start_programs(const Context& context) {
  std::vector<demo::Child> programs;
  for (unsigned i = 0; i < kProcesses; ++i) {
    Actors::Casting casting{nullptr, fmt::format("trainer{}", i), trainer_with(kQueuesEach)};
    casting.environment["GPU_MAX_HW_QUEUES"] = std::to_string(kQueuesEach);
    casting.debuggable = true;
    programs.push_back(TRY(context.actors.trainer(casting)));
  }
  return programs;
}

}  // namespace

Result<report::Batching> compare_batching(const Context& context) {
  const std::vector<demo::Child> programs = TRY(start_programs(context));
  report::Batching batching;
  batching.processes = kProcesses;
  batching.queues = kProcesses * kQueuesEach;
  for (const Id id : {Id::debugger, Id::kernel}) {
    std::vector<Manner> manners;
    std::ranges::copy_if(kManners, std::back_inserter(manners),
                         [&](const Manner& manner) { return manner.mechanism == id; });
    auto victims = attach_all(id, programs);
    const Status compared =
        victims ? compare(context, manners, *victims, batching) : Status(victims.error());
    if (!compared && compared.error().code == EINTR) {
      return compared.error();
    }
    if (!compared) {
      report::BatchWay missing;
      missing.mechanism = mechanism::info(id).name;
      missing.note = compared.error().message();
      batching.ways.push_back(std::move(missing));
    }
  }
  return batching;
}

}  // namespace gp::bench
