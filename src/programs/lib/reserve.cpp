// Hardware slots kept free for online work.
#include <fmt/format.h>

#include <cerrno>

#include "lib/boundary.h"
#include "lib/context.h"
#include "lib/reservations.h"
#include "os/os.h"

namespace gp::lib {

Status Reservations::prepare() {
  if (!made_) {
    made_ = TRY(mechanism::SlotReservations::open());
  }
  return ok();
}

Result<mechanism::SlotState> Reservations::state(u32 gpu_id) {
  const std::scoped_lock lock(mutex_);
  TRY(prepare());
  return made_->state(gpu_id);
}

// Those that have ended need no name any more.
Status Reservations::name_low(const std::set<ProcessKey>& low) {
  const auto set_low = [&](const ProcessKey& process, bool is_low) {
    Status named = made_->set_low(process, is_low);
    return !named && named.error().code == ESRCH ? ok() : std::move(named);
  };
  for (const ProcessKey& process : low_) {
    if (!low.contains(process)) {
      TRY(set_low(process, false));
    }
  }
  for (const ProcessKey& process : low) {
    TRY(set_low(process, true));
  }
  low_ = low;
  return ok();
}

Status Reservations::set(const std::vector<u32>& gpu_ids, const WantedReservation& wanted,
                         const std::set<ProcessKey>& low) {
  const std::scoped_lock lock(mutex_);
  TRY(prepare());
  TRY(name_low(low));
  for (std::size_t i = 0; i < gpu_ids.size(); ++i) {
    Status reserved = ok();
    if (wanted.slots) {
      reserved = made_->reserve(gpu_ids[i], *wanted.slots);
    } else if (auto by_shares = made_->reserve(gpu_ids[i], wanted.shares); !by_shares) {
      reserved = std::move(by_shares.error());
    }
    if (!reserved) {
      for (std::size_t j = 0; j < i; ++j) {
        // It was set a moment ago by this lease: ending it cannot be refused for a reason that
        // would not end it as well, such as the loss of the device.
        [[maybe_unused]] const Status ended = made_->reserve(gpu_ids[j], 0);
      }
      return reserved;
    }
  }
  return ok();
}

}  // namespace gp::lib

using namespace gp::lib;

namespace {

gp::Result<std::vector<gp::u32>> gpus_of(const gp::discover::Snapshot& snapshot, uint32_t gpu_id) {
  if (gpu_id != 0) {
    return std::vector<gp::u32>{gpu_id};
  }
  std::vector<gp::u32> gpu_ids;
  for (const gp::discover::Node& node : snapshot.nodes) {
    gpu_ids.push_back(node.gpu_id);
  }
  if (gpu_ids.empty()) {
    return gp::Error{ENODEV, "there is no GPU", ""};
  }
  return gpu_ids;
}

gp::Status check(const gpreempt_context* context) {
  return check_usable(context == nullptr ? nullptr : context->leases.get());
}

gp::Status reserve(const gpreempt_context* context, uint32_t gpu_id,
                   const WantedReservation& wanted) {
  TRY(check(context));
  const auto snapshot = TRY(gp::discover::take_snapshot(gp::system_os(), context->paths,
                                                        context->classes, {.debugfs = false}));
  std::set<gp::ProcessKey> low;
  for (const gp::discover::Process& process : snapshot.processes) {
    if (process.work_class == gp::WorkClass::offline && process.pid_is_ours) {
      low.insert(process.key);
    }
  }
  return context->reservations->set(TRY(gpus_of(snapshot, gpu_id)), wanted, low);
}

}  // namespace

int gpreempt_reserve_slots(gpreempt_context* context, uint32_t gpu_id, uint32_t slots) {
  return guarded([&]() -> int {
    const gp::Status reserved = reserve(context, gpu_id, {slots, {}});
    return reserved ? 0 : fail(reserved.error());
  });
}

int gpreempt_reserve_percent(gpreempt_context* context, uint32_t gpu_id, uint32_t online_percent,
                             uint32_t offline_percent) {
  return guarded([&]() -> int {
    const gp::Status reserved =
        reserve(context, gpu_id, {std::nullopt, {online_percent, offline_percent}});
    return reserved ? 0 : fail(reserved.error());
  });
}

int gpreempt_slots_of(gpreempt_context* context, uint32_t gpu_id, gpreempt_slots* slots) {
  return guarded([&]() -> int {
    if (const gp::Status usable = check(context); !usable) {
      return fail(usable.error());
    }
    const auto state = context->reservations->state(gpu_id);
    if (!state) {
      return fail(state.error());
    }
    return write_answer({sizeof(gpreempt_slots), state->num_slots, state->reserved,
                         state->active_queues, state->waiting_queues},
                        slots, "gpreempt_slots");
  });
}
