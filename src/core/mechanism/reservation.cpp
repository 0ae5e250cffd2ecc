#include "mechanism/reservation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "kfd/preempt_calls.h"
#include "mechanism/kernel_errors.h"
#include "mechanism/kernel_target.h"
#include "mechanism/target_process.h"

namespace gp::mechanism {

Result<u32> slots_to_reserve(u32 num_slots, const SlotShares& shares) {
  constexpr u64 kWhole = 100;
  if (u64{shares.online_percent} + shares.offline_percent > kWhole) {
    return Error{EINVAL,
                 fmt::format("{} percent for online and {} for offline work are more than 100",
                             shares.online_percent, shares.offline_percent),
                 ""};
  }
  if (num_slots == 0) {
    return 0;
  }
  const auto rounded_up = [&](u64 percent) { return (num_slots * percent + kWhole - 1) / kWhole; };
  const u64 wanted =
      std::max(rounded_up(shares.online_percent), rounded_up(kWhole - shares.offline_percent));
  return static_cast<u32>(std::min<u64>(wanted, num_slots - 1));
}

SlotReservations::SlotReservations(UniqueFd device, UniqueFd lease, kfd::IoctlFunction ioctl,
                                   void* context)
    : device_(std::move(device)),
      lease_(std::move(lease)),
      channel_{device_.get(), ioctl, context},
      renewer_([this](u32 timeout_ms) {
        return kfd::renew_preempt_lease(channel_, lease_.get(), timeout_ms);
      }) {}

Result<std::unique_ptr<SlotReservations>> SlotReservations::open(kfd::IoctlFunction ioctl,
                                                                 void* context) {
  UniqueFd device = TRY(open_kfd());
  const kfd::Channel channel{device.get(), ioctl, context};
  TRY(check_preempt_caps(channel, abi::kPreemptCapReservation | abi::kPreemptCapStatus));
  const int lease = kfd::create_preempt_lease(channel, 0);
  if (lease < 0) {
    return kernel_lease_error(lease);
  }
  std::unique_ptr<SlotReservations> made(
      new SlotReservations(std::move(device), UniqueFd(lease), ioctl, context));
  if (const int error = made->renewer_.keep_until(LeaseRenewer::Clock::time_point::max())) {
    return Error{-error, "cannot renew the lease of the driver", ""};
  }
  return made;
}

Result<SlotState> SlotReservations::state(u32 gpu_id) const {
  abi::QueueStatusArgs status = {};
  if (const int error = kfd::get_queue_status(channel_, gpu_id, status); error < 0) {
    return Error{error == -EINVAL ? ENODEV : -error,
                 fmt::format("cannot read the hardware slots of GPU {}", gpu_id),
                 error == -EINVAL ? "see `gpreempt queues` for the GPUs there are" : ""};
  }
  return SlotState{status.num_slots, status.reserved_slots, status.active_compute_queues,
                   status.waiting_queues};
}

Status SlotReservations::reserve(u32 gpu_id, u32 slots) const {
  const kfd::SlotReservation reservation{gpu_id, slots, 0};
  const int error = kfd::set_slot_reservation(channel_, lease_.get(), reservation);
  if (error >= 0) {
    return ok();
  }
  const std::string what = fmt::format("cannot reserve {} hardware slots of GPU {}", slots, gpu_id);
  switch (error) {
    case -EPERM: return Error{EPERM, what, "it concerns everybody: it needs CAP_SYS_NICE"};
    case -EBUSY: return Error{EBUSY, what, "another program has a reservation there"};
    case -EINVAL: return Error{EINVAL, what, "at least one must be left"};
    case -EOPNOTSUPP:
      return Error{EOPNOTSUPP, what, "this GPU's scheduler (MES, or none) has fixed slots"};
    default: return Error{-error, what, ""};
  }
}

Result<u32> SlotReservations::reserve(u32 gpu_id, const SlotShares& shares) const {
  const SlotState now = TRY(state(gpu_id));
  const u32 slots = TRY(slots_to_reserve(now.num_slots, shares));
  TRY(reserve(gpu_id, slots));
  return slots;
}

Status SlotReservations::set_low(const ProcessKey& process, bool low) const {
  KernelTarget target = TRY(KernelTarget::find(process));
  const KernelTargetName name = TRY(target.name());
  abi::PreemptEntry entry = {};
  entry.target = name.target;
  entry.flags = name.flags;
  entry.queue_id = abi::kPreemptAllQueues;
  const int error = low ? kfd::name_low_queues(channel_, lease_.get(), {&entry, 1})
                        : kfd::unname_low_queues(channel_, lease_.get(), {&entry, 1});
  if (const int result = error < 0 ? error : entry.status; result < 0) {
    return kernel_error(process.pid, "cannot limit the hardware slots of", result);
  }
  return ok();
}

}  // namespace gp::mechanism
