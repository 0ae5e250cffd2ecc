// The slot reservations of a context: made at the first call, ended with the context.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "discover/discover.h"
#include "mechanism/reservation.h"

namespace gp::lib {

// What a caller wants on each GPU: so many slots, or shares of them.
struct WantedReservation {
  std::optional<u32> slots;
  mechanism::SlotShares shares;
};

class Reservations {
 public:
  // On these GPUs, for queues above `low_priority`. All or nothing: if one fails, the reservations
  // of this call end.
  Status set(const std::vector<u32>& gpu_ids, const WantedReservation& wanted, u32 low_priority);

  Result<mechanism::SlotState> state(u32 gpu_id);

 private:
  Status prepare();  // with the mutex held

  std::mutex mutex_;
  std::unique_ptr<mechanism::SlotReservations> made_;
};

}  // namespace gp::lib
