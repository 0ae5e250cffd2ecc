#include "daemon/slot_reserver.h"

#include <cerrno>

#include "base/log.h"

namespace gp::daemon {

namespace {

Result<u32> reserve_on(const mechanism::SlotReservations& reservations, u32 gpu_id,
                       const config::Reservation& wanted) {
  if (wanted.slots) {
    TRY(reservations.reserve(gpu_id, *wanted.slots));
    return *wanted.slots;
  }
  return reservations.reserve(gpu_id, {wanted.online_percent, wanted.offline_percent});
}

}  // namespace

void SlotReserver::name_low(const ProcessKey& process, bool low) const {
  const Status named = made_->set_low(process, low);
  if (!named && named.error().code != ESRCH) {
    log_warning("{}", named.error().message());
  }
}

void SlotReserver::saw(const discover::Process& process) {
  const bool low = process.work_class == WorkClass::offline && !process.queues.empty();
  const bool changed = low ? low_.insert(process.key).second : low_.erase(process.key) != 0;
  if (changed && made_) {
    name_low(process.key, low);
  }
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
      for (const ProcessKey& process : low_) {
        name_low(process, true);
      }
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
    const auto slots = reserve_on(*made_, gpu_id, wanted);
    if (slots) {
      entry.slots = *slots;
    } else {
      entry.error = slots.error().message();
      log_warning("{}", entry.error);
    }
  }
}

}  // namespace gp::daemon
