// Hardware slots kept free for online work, where the driver can (SET_HQD_RESERVATION,
// docs/kernel.md): compute queues of low priority get the rest, and take turns at it if there are
// more of them. A reservation lives as long as the object that made it, or this process.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/unique_fd.h"
#include "kfd/channel.h"
#include "libc/types.h"

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
  u32 waiting_queues = 0;  // of low priority, for a slot that is not reserved
};

class SlotReservations {
 public:
  // EOPNOTSUPP if the driver cannot reserve slots. Opens the device, and takes a lease of the
  // kernel that has no deadline: a reservation stops nobody.
  static Result<std::unique_ptr<SlotReservations>> open(
      kfd::IoctlFunction ioctl = kfd::system_ioctl, void* ioctl_context = nullptr);

  Result<SlotState> state(u32 gpu_id) const;
  // Queues up to `low_priority` cannot take the reserved slots. 0 slots: end it. EPERM without
  // CAP_SYS_NICE; EBUSY if somebody else has a reservation on this GPU; EINVAL if none were left.
  Status reserve(u32 gpu_id, u32 slots, u32 low_priority) const;
  // The same by shares; how many slots that is.
  Result<u32> reserve(u32 gpu_id, const SlotShares& shares, u32 low_priority) const;

 private:
  SlotReservations(UniqueFd device, UniqueFd lease, kfd::IoctlFunction ioctl, void* context)
      : device_(std::move(device)),
        lease_(std::move(lease)),
        channel_{device_.get(), ioctl, context} {}

  UniqueFd device_, lease_;
  kfd::Channel channel_;
};

}  // namespace gp::mechanism
