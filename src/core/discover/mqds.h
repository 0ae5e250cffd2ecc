// debugfs mqds: the memory images of all queues, per process, newest queue first.
//
// The driver prints (kfd_process_queue_manager.c:1104, kfd_process.c:2289)
//
//   Process 94314 PASID 0x8001:            7.x and AMD's DKMS driver: PASID 94314
//     Compute queue on device f7bc         or SDMA queue, DIQ, Bad user queue type 5
//       00000000: c0310800 00000000 ...    64 lines, once per XCC; 16 lines for SDMA
//
// and names no queue id. A queue of SDMA that follows a compute queue of a GPU with several XCCs is
// dumped that many times (num_xccs is not reset): only the first dump is the queue's. Some driver
// builds print annotated text in place of the dump:
//
//   Compute queue on device 0001:01:00.0
//       Queue ID: 1 (0x1)
//       Address: 0x7f8c00000000
//       Process: pid 15234 pasid 0x8001
//       is active: yes
//       priority: 7
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "discover/snapshot.h"

namespace gp::discover {

// What one MQD says. Read and write index and the saved bytes are those of the last unmap.
struct MqdReading {
  std::optional<u64> mqd_address;
  std::optional<u32> priority;
  std::optional<u32> pipe_priority;
  std::optional<u64> ring_base;
  std::optional<u64> ring_bytes;
  std::optional<u64> read_index;
  std::optional<u64> write_index;
  std::optional<u32> doorbell;
  std::optional<u64> saved_bytes;
  // Where in the memory of its process the indices are that the two above are copies of: for AQL in
  // packets, and always true.
  std::optional<u64> read_index_address;
  std::optional<u64> write_index_address;
  bool aql = false;    // its ring holds AQL packets
  u64 xcc_stride = 0;  // between the MQDs of the XCCs; 0: this GPU has one per queue
};

struct MqdQueue {
  pid_t pid = 0;  // as the driver knows it: of the first pid namespace
  std::optional<u32> gpu_id;
  std::string pci_address;  // in place of the gpu_id: "0001:01:00.0"
  QueueType type = QueueType::unknown;
  // One per XCC for compute, one for SDMA; an empty one could not be read.
  std::vector<std::optional<MqdReading>> instances;
  // Only the annotated form has these.
  std::optional<u32> queue_id;
  std::optional<bool> active;
};

struct Mqds {
  std::vector<MqdQueue> queues;  // in the order of the file
  u32 damaged_lines = 0;         // that could not be understood; what they held is missing
};

Mqds parse_mqds(std::string_view text);

}  // namespace gp::discover
