// Whether work of one part of the process waits for another part.
//
// HIP lets streams wait for each other's events: a barrier packet in one queue whose signal falls
// when a packet of the other has completed. If the other queue was stopped to make room for this
// one, both would stand still until `max_stop`. So while a part is busy and nothing of it
// completes, the packets that its queues stand at are looked at. One that waits for a signal which
// a packet of another part completes means that part, and whatever that part's queues wait for in
// turn. A signal that no packet completes may be that of a copy, which is an engine's work and not
// ours to stop, but such copies can stand in line behind those of a stopped part: when a queue has
// stood at such a packet for kPatienceNs, it may be any part.
//
// Nothing here may disturb the program, which may destroy a signal as soon as its packet has been
// passed, and unmap the memory. So signals are read where the GPU reads them and not by ROCr, whose
// functions end the program when a signal is none; and by a system call that fails where there is
// no memory. What was read counts only if the queue still stands at the packet afterwards.
//
// Where the packet processor is, is known from the read index. That it may be behind, so that the
// packet there is used up already, is provided for, but how far hardware lets it be is not known:
// this was tried with the virtual GPU alone. Queues with a gate are not looked at, because the ring
// that the program sees is not the one that the GPU reads.
#pragma once

#include "agent/queues.h"
#include "model/part.h"

namespace gp::agent {

class WaitSearch {
 public:
  // The parts for which `own` waits, as a set; called again and again while it is busy.
  u32 look(Part own) { return look(own, kPatienceNs); }
  u32 look(Part own, u64 patience_ns);
  // Something of it has completed.
  void progress() { stuck_since_ns_ = 0; }
  // How long to wait until the next look: short at first and while another part is waited for, and
  // longer the longer a kernel takes. A process of one part has nothing to look for.
  u32 look_ms(u32 longest_ms);

  static constexpr u64 kPatienceNs = 50'000'000;

 private:
  u64 stuck_since_ns_ = 0;  // when nothing had completed first; 0: something has since
  bool has_parts_ = false;
  bool waits_ = false;
};

}  // namespace gp::agent
