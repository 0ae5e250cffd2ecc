// The slot reservations of a context: made at the first call, ended with the context.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
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
  // On these GPUs; the `low` processes cannot have the slots. All or nothing: if one fails, the
  // reservations of this call end.
  Status set(const std::vector<u32>& gpu_ids, const WantedReservation& wanted,
             const std::set<ProcessKey>& low);

  Result<mechanism::SlotState> state(u32 gpu_id);

 private:
  Status prepare();  // with the mutex held
  Status name_low(const std::set<ProcessKey>& low);

  std::mutex mutex_;
  std::unique_ptr<mechanism::SlotReservations> made_;
  std::set<ProcessKey> low_;  // named so by the last call
};

}  // namespace gp::lib
