// Reserves hardware slots for online work as the configuration asks for it. The reservations end
// with the daemon.
#pragma once

#include <memory>
#include <set>

#include "config/config.h"
#include "daemon/driver_view.h"
#include "mechanism/reservation.h"

namespace gp::daemon {

class SlotReserver {
 public:
  // Makes what is asked for on each GPU, and ends what no longer is. The driver maps all queues
  // anew: for the beginning, and for a new configuration.
  void reserve(const config::Config& config, const std::set<u32>& gpu_ids, DriverView& view);

 private:
  Result<u32> reserve_on(u32 gpu_id, const config::Reservation& wanted, u32 low_priority) const;
  std::unique_ptr<mechanism::SlotReservations> made_;
};

}  // namespace gp::daemon
