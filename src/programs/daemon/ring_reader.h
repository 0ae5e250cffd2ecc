// What the rings of one process say of its work, read from outside: process_vm_readv(2), one call
// for all indices of all queues.
//
// A queue has work while its read index is behind its write index. When all packets are read, the
// last one may be running still, and hardware does not say: so the completion signal of the last
// packet is looked at, where it has one. It counts only while its value is 1, which is what HIP
// begins with: a signal that counts many packets would never come to 0. A last packet without a
// signal counts as done when it has been read. Who wants to know it exactly loads the agent.
//
// The process may write anything there, as it may into an agent's page: it can keep others stopped
// only as an honest busy one can. Memory that it has unmapped is not read again.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "discover/rings.h"

namespace gp::daemon {

// As process_vm_readv(2), without flags. In a test: other memory.
using ReadMemory =
    std::function<ssize_t(pid_t, std::span<const iovec> to, std::span<const iovec> from)>;
ssize_t read_memory(pid_t pid, std::span<const iovec> to, std::span<const iovec> from);

class RingReader {
 public:
  // One call takes so many: two addresses each, if they lie apart.
  static constexpr std::size_t kMostRings = 512;

  RingReader(pid_t pid, const std::vector<discover::Ring>& rings, ReadMemory read);

  struct Sight {
    bool busy = false;
    u64 read = 0;        // packets, of all queues since they were made
    bool moved = false;  // an index is another than at the last look
  };
  // EFAULT: none of the rings is there any more. ESRCH, EPERM: the process has gone, or may not be
  // read.
  Result<Sight> look();
  std::size_t rings() const { return rings_.size(); }

 private:
  struct Ring {
    discover::Ring place;
    std::size_t read_at = 0, written_at = 0;  // in `bytes_`
    u64 read = 0, written = 0;
    u64 done = 0;  // all packets below this index are known to have completed
    bool busy = false;
  };
  void plan();
  Status read_indices();
  void drop_ring_at(std::size_t offset);
  bool take(Ring& ring) const;
  bool is_last_running(const Ring& ring) const;
  bool fetch(u64 address, void* to, std::size_t size) const;
  u64 index_at(std::size_t offset) const;

  const pid_t pid_;
  const ReadMemory read_;
  std::vector<Ring> rings_;
  std::vector<iovec> from_;  // one or two for each ring, in their order
  std::vector<unsigned char> bytes_;
};

}  // namespace gp::daemon
