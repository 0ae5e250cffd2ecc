// Reserves hardware slots for online work as the configuration asks for it, and tells the driver
// which processes cannot have them: those of offline class. The reservations end with the daemon.
#pragma once

#include <memory>
#include <set>

#include "config/config.h"
#include "daemon/driver_view.h"
#include "discover/snapshot.h"
#include "mechanism/reservation.h"

namespace gp::daemon {

class SlotReserver {
 public:
  // Makes what is asked for on each GPU, and ends what no longer is. The driver maps all queues
  // anew: for the beginning, and for a new configuration.
  void reserve(const config::Config& config, const std::set<u32>& gpu_ids, DriverView& view);
  // A process appeared, changed, or has no queues any more.
  void saw(const discover::Process& process);

 private:
  void name_low(const ProcessKey& process, bool low) const;

  std::unique_ptr<mechanism::SlotReservations> made_;
  std::set<ProcessKey> low_;  // of offline class, whether something is reserved or not
};

}  // namespace gp::daemon
