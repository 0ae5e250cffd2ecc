#include "daemon/slot_reserver.h"

#include "base/log.h"

namespace gp::daemon {

Result<u32> SlotReserver::reserve_on(u32 gpu_id, const config::Reservation& wanted,
                                     u32 low_priority) const {
  if (wanted.slots) {
    TRY(made_->reserve(gpu_id, *wanted.slots, low_priority));
    return *wanted.slots;
  }
  return made_->reserve(
      gpu_id, mechanism::SlotShares{wanted.online_percent, wanted.offline_percent}, low_priority);
}

void SlotReserver::reserve(const config::Config& config, const std::set<u32>& gpu_ids,
                           DriverView& view) {
  const config::Reservation& wanted = config.reservation;
  view.reserved.clear();
  if (!wanted.is_wanted()) {
    made_.reset();  // its lease ends, and the reservations with it
    return;
  }
  std::string error;
  if (!made_) {
    auto opened = mechanism::SlotReservations::open();
    if (opened) {
      made_ = std::move(*opened);
    } else {
      error = opened.error().message();
      log_warning("no hardware slots are reserved: {}", error);
    }
  }
  for (const u32 gpu_id : gpu_ids) {
    ReservedSlots& entry = view.reserved[gpu_id];
    entry.error = error;
    if (!made_) {
      continue;
    }
    const auto slots =
        reserve_on(gpu_id, wanted, wanted.low_priority.value_or(config.classes.offline_to));
    if (slots) {
      entry.slots = *slots;
    } else {
      entry.error = slots.error().message();
      log_warning("{}", entry.error);
    }
  }
}

}  // namespace gp::daemon
