// The machine under the driver, as far as the tests look at it or act on it beside the calls under
// test. Each machine implements it: kernel/tests/sim (the real driver on emulated firmware, in a
// virtual machine) and tests/kernel_calls (the virtual GPU).
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

struct QueueName {
  int pid, queue_id;
  auto operator<=>(const QueueName&) const = default;
};

// The queues that the hardware scheduler of a GPU was told to run, never in the middle of a change:
// what this and packets_so_far tell, the driver had finished. A queue that the driver does
// not list has a pid of -1.
std::set<QueueName> mapped_queues(unsigned gpu);

// What the driver has sent to the scheduler since the machine was started. MES has no run lists: it
// is told of each queue that is to run or to stop, and those are counted instead.
struct Packets {
  uint64_t run_lists = 0, unmaps = 0;
  auto operator<=>(const Packets&) const = default;
};
Packets packets_so_far(unsigned gpu);

// The first thing that went wrong on a GPU and no call told; empty if nothing did.
std::string complaint(unsigned gpu);

// All queues of a process leave the GPU, as when its memory is needed, and come back.
int evict(int pid);
int restore(int pid);

// How long the scheduler needs to take queues off the GPU.
void set_unmap_delay_ms(unsigned delay);

// The file that ACQUIRE_VM wants, or -1 with errno.
int open_render_node(unsigned gpu);

// The calling process becomes that of a user without privileges; an exec completes it.
void become_ordinary_user();

// Why the tests cannot run here; empty if they can.
std::string reason_to_skip();

// Packets sent to each GPU between construction and call.
class PacketCount {
 public:
  PacketCount() : before_{packets_so_far(0), packets_so_far(1)} {}
  Packets since(unsigned gpu = 0) const {
    const Packets was = before_.at(gpu), is = packets_so_far(gpu);
    return {is.run_lists - was.run_lists, is.unmaps - was.unmaps};
  }

 private:
  std::vector<Packets> before_;
};
