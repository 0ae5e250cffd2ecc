// Preemption leases (kernel/patches, kfd_preempt.c): who keeps queues off the hardware, and until
// when. What a lease holds is given back when its last file descriptor is closed, when the process
// that created it ends, and when its deadline passes.
//
// The file is the reading end of a pipe whose writing end stays here: poll(2) reports on it when
// the last copy, in whatever process, is closed. The kernel's close(2) gives back before it
// returns. Here a thread finds out soon after, and whoever enters the driver before it does so in
// its place (release_closed), so that nobody can see the difference.
//
// A call under a lease locks nothing of it: the deadline passes, and the owner dies, whatever calls
// are under way, and is seen on each GPU on its own. The lease is marked first, then the GPUs are
// visited; a call looks at the mark under the lock of the GPU, so that it inserts nothing after the
// visit.
//
// Locks: Lease::mutex > device queue manager, never two of either. The list's lock is a leaf, below
// that of the process too.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "driver/driver.h"
#include "driver/work_queue.h"

namespace vgpu::driver {

struct Module;
struct Process;

struct Lease {
  FileId file;       // {0, 0}: the lease a process has without asking, for the early ioctls
  UniqueFd own_end;  // shows when all copies of the file are closed
  std::atomic<const Process*> owner = nullptr;  // null once that is gone; only compared
  std::atomic<bool> expired = false;  // the deadline passed and the lease was not renewed since
  std::atomic<u32> term = 0;          // counts the expiries: what was held before one is released
  std::atomic<u64> deadline_ns = 0;   // 0: none

  std::mutex mutex;  // of what sets the deadline
  WorkQueue::Timer expiry;

  bool is_usable() const { return owner && !expired; }
};
using LeasePtr = std::shared_ptr<Lease>;

struct FoundLease {
  LeasePtr lease;
  int error = 0;  // instead of it, if not 0
};

class Leases {
 public:
  explicit Leases(Module& module) : module_(module) {}

  // The file for the caller to have. -ENOSPC: it has too many; -EMFILE and the like, or -EINTR if
  // the process is on its way out.
  int create(Process& owner, u32 timeout_ms, UniqueFd* file);
  // -EBADF if the file is none of a lease, -EPERM if it is another process's lease.
  FoundLease find(const Process& caller, std::optional<FileId> file);
  FoundLease find_implicit(Process& owner);
  // 0: no deadline.
  void set_deadline(const LeasePtr& lease, u32 timeout_ms);

  void release_closed();
  // The owner ends or calls exec. Copies of the files may live on in other processes.
  void release_owned_by(const Process& owner);

 private:
  LeasePtr add(const Process& owner, FileId file, UniqueFd own_end);
  LeasePtr implicit_lease_of(const Process& owner);
  bool has_too_many(const Process& owner);
  void end(const LeasePtr& lease);
  void expire(const LeasePtr& lease);

  Module& module_;
  std::mutex mutex_;
  std::list<LeasePtr> leases_;
};

}  // namespace vgpu::driver
