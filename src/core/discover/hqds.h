// debugfs hqds: the registers of all hardware queue slots that KFD may use, per node and XCC.
//
// The driver prints (kfd_topology.c:2367, kfd_device_queue_manager.c:3564)
//
//   Node 2, gpu_id f7bc:
//      Inst 0, HIQ on MEC 2 Pipe 0 Queue 0        the kernel's own queue to the scheduler
//       0000c914: 006e3000 ...
//    Inst 0,  CP Pipe 0, Queue 2                  56 registers, CP_MQD_BASE_ADDR to CP_HQD_PQ_WPTR
//       0000c914: 017ba000 ...
//     SDMA Engine 0, RLC 0                        after all instances
//       00004e40: 00040000 ...
//
// Every XCC has another base address, and gfx10 and later have others again: registers count from
// the first address of their block. An AQL queue takes the same pipe and queue on every XCC.
#pragma once

#include <string_view>
#include <vector>

#include "discover/mqds.h"

namespace gp::discover {

struct ComputeSlot {
  u32 instance = 0;  // XCC
  u32 pipe = 0;
  u32 queue = 0;
  MqdReading registers;
};

struct SdmaSlot {
  u32 engine = 0;
  u32 rlc = 0;
  MqdReading registers;
};

struct HqdsNode {
  u32 node_id = 0;
  u32 gpu_id = 0;
  bool stopped = false;              // "Device is stopped": it prints no registers
  std::vector<ComputeSlot> compute;  // the occupied ones
  std::vector<SdmaSlot> sdma;        // the occupied ones
  u32 instances = 0;                 // XCCs
  u32 compute_slots = 0;             // different pipe and queue
  u32 sdma_slots = 0;                // of all engines
  bool is_gfx9 = false;              // by the address of the first register
  bool compute_is_whole = false;     // all of its compute slots were there and readable
  bool sdma_is_whole = false;        // the same; but if it is the last, its end may be missing
  bool is_last = false;
};

struct Hqds {
  std::vector<HqdsNode> nodes;
  u32 damaged_lines = 0;
};

Hqds parse_hqds(std::string_view text);

}  // namespace gp::discover
