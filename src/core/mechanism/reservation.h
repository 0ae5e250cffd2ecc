// Hardware slots kept free for online work, where the driver can (SET_SLOT_RESERVATION,
// docs/kernel.md): the compute queues of the processes that are named low get the rest, and take
// turns at it if there are more of them. What a process says of the priority of its own queues
// counts for nothing. A reservation lives as long as the object that made it, or this process.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/unique_fd.h"
#include "kfd/channel.h"
#include "libc/types.h"
#include "mechanism/lease_renewer.h"
#include "model/keys.h"

namespace gp::mechanism {

// Shares of a GPU's slots as the early API gives them: at least `online` percent are for online
// work alone, and offline work gets at most `offline` percent.
struct SlotShares {
  u32 online_percent = 0;
  u32 offline_percent = 100;
};

// How many slots that is: the larger of the two demands, each rounded up in favour of online work,
// but never so many that offline work has none. With 24 slots and (10, 80): 3 are demanded by the
// first, 5 by the second, so 5. EINVAL if the two are more than 100 together.
Result<u32> slots_to_reserve(u32 num_slots, const SlotShares& shares);

struct SlotState {
  u32 num_slots = 0;
  u32 reserved = 0;
  u32 active_queues = 0;   // compute queues that the hardware is given
  u32 waiting_queues = 0;  // low ones, for a slot that is not reserved
};

class SlotReservations {
 public:
  // EOPNOTSUPP if the driver cannot reserve slots. Opens the device, and takes a lease of the
  // kernel.
  static Result<std::unique_ptr<SlotReservations>> open(
      kfd::IoctlFunction ioctl = kfd::system_ioctl, void* ioctl_context = nullptr);

  Result<SlotState> state(u32 gpu_id) const;
  // The low processes cannot take the reserved slots. 0 slots: end it. EPERM without CAP_SYS_NICE;
  // EBUSY if somebody else has a reservation on this GPU; EINVAL if none were left.
  Status reserve(u32 gpu_id, u32 slots) const;
  // The same by shares; how many slots that is.
  Result<u32> reserve(u32 gpu_id, const SlotShares& shares) const;
  // All queues of this process, those to come too, are low on every GPU that is or will be reserved
  // on; or no longer. EPERM, ESRCH as for a stop.
  Status set_low(const ProcessKey& process, bool low) const;

 private:
  SlotReservations(UniqueFd device, UniqueFd lease, kfd::IoctlFunction ioctl, void* context);

  UniqueFd device_, lease_;
  kfd::Channel channel_;
  LeaseRenewer renewer_;  // to name other processes the lease needs a deadline
};

}  // namespace gp::mechanism
