// What the packet processor (CP) of an AMD GPU shares with the ROCm runtime: AQL packets, signals,
// the queue descriptor and the kernel descriptor. Data only.
//
// Sources: HSA Platform System Architecture 1.2, 2.9 (packets); ROCR-Runtime rocm-5.2.3
// src/inc/amd_hsa_signal.h, amd_hsa_queue.h, amd_hsa_kernel_code.h, hsa_ext_amd.h and
// core/runtime/amd_aql_queue.cpp; LLVM AMDGPUUsage, "Kernel Descriptor".
#pragma once

#include <cstddef>

#include "libc/types.h"

namespace gp::abi {

// ---- packets: 64 bytes each, the header is written last ----

enum PacketType : u8 {
  packet_vendor_specific = 0,
  packet_invalid = 1,  // the slot is free, or not yet written
  packet_kernel_dispatch = 2,
  packet_barrier_and = 3,
  packet_agent_dispatch = 4,
  packet_barrier_or = 5,
};
constexpr u16 kHeaderTypeMask = 0xff;
constexpr u16 kHeaderBarrierBit = 1 << 8;
constexpr u32 kPacketSize = 64;

// hsa_kernel_dispatch_packet_t
struct DispatchPacket {
  u16 header;
  u16 setup;  // dimensions in bits 1:0
  u16 workgroup_size[3];
  u16 reserved0;
  u32 grid_size[3];
  u32 private_segment_size;  // bytes per work-item
  u32 group_segment_size;    // bytes per work-group
  u64 kernel_object;         // VA of the kernel descriptor
  u64 kernarg_address;
  u64 reserved2;
  u64 completion_signal;
};
static_assert(sizeof(DispatchPacket) == kPacketSize);
static_assert(offsetof(DispatchPacket, grid_size) == 12);
static_assert(offsetof(DispatchPacket, kernel_object) == 32);
static_assert(offsetof(DispatchPacket, completion_signal) == 56);

// hsa_barrier_and_packet_t, hsa_barrier_or_packet_t
struct BarrierPacket {
  u16 header;
  u16 reserved0;
  u32 reserved1;
  u64 dep_signal[5];
  u64 reserved2;
  u64 completion_signal;
};
static_assert(sizeof(BarrierPacket) == kPacketSize);
static_assert(offsetof(BarrierPacket, dep_signal) == 8);

// The second byte pair of a vendor-specific packet says what it is.
enum VendorFormat : u8 {
  vendor_pm4_ib = 1,         // amd_aql_pm4_ib, amd_aql_queue.cpp ExecutePM4
  vendor_barrier_value = 2,  // HSA_AMD_PACKET_TYPE_BARRIER_VALUE
};

// amd_aql_pm4_ib
struct Pm4IbPacket {
  u16 header;
  u16 vendor_format;
  u32 ib_jump[4];  // a PM4 INDIRECT_BUFFER packet
  u32 dw_count_remain;
  u32 reserved[8];
  u64 completion_signal;
};
static_assert(sizeof(Pm4IbPacket) == kPacketSize);

// hsa_amd_barrier_value_packet_t: waits until (signal & mask) cond value.
enum SignalCondition : u32 { cond_eq = 0, cond_ne = 1, cond_lt = 2, cond_gte = 3 };
struct BarrierValuePacket {
  u16 header;
  u8 vendor_format;
  u8 reserved;
  u32 reserved0;
  u64 signal;
  i64 value;
  i64 mask;
  u32 condition;
  u32 reserved1;
  u64 reserved2;
  u64 reserved3;
  u64 completion_signal;
};
static_assert(sizeof(BarrierValuePacket) == kPacketSize);
static_assert(offsetof(BarrierValuePacket, condition) == 32);

union AqlPacket {
  struct {
    u16 header;
    u16 second;
  } word;
  DispatchPacket dispatch;
  BarrierPacket barrier;
  Pm4IbPacket pm4;
  BarrierValuePacket barrier_value;
};
static_assert(sizeof(AqlPacket) == kPacketSize);

// ---- amd_signal_t: a signal handle is its VA ----

enum SignalKind : i64 { signal_user = 1 };  // AMD_SIGNAL_KIND_USER: it has a value
struct AmdSignal {
  i64 kind;
  i64 value;
  u64 event_mailbox_ptr;  // VA; 0: nobody sleeps on this signal
  u32 event_id;
  u32 reserved1;
  u64 start_ts, end_ts;  // GPU clock
  u64 queue_ptr;
  u32 reserved3[2];
};
static_assert(sizeof(AmdSignal) == 64);
static_assert(offsetof(AmdSignal, value) == 8);
static_assert(offsetof(AmdSignal, event_id) == 0x18);
static_assert(offsetof(AmdSignal, start_ts) == 0x20);

// ---- amd_queue_t ----

enum AmdQueueProperties : u32 {
  queue_use_scratch_once = 1 << 4,  // AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE
};
struct AmdQueue {
  u8 hsa_queue[40];
  u32 reserved1[4];
  u64 write_dispatch_id;
  u32 group_segment_aperture_base_hi;
  u32 private_segment_aperture_base_hi;
  u32 max_cu_id, max_wave_id;
  u64 max_legacy_doorbell_dispatch_id_plus_1;
  u32 legacy_doorbell_lock;
  u32 reserved2[9];
  u64 read_dispatch_id;
  u32 read_dispatch_id_field_base_byte_offset;
  u32 compute_tmpring_size;  // COMPUTE_TMPRING_SIZE: waves 11:0, KiB per wave 24:12
  u32 scratch_resource_descriptor[4];
  u64 scratch_backing_memory_location;
  u64 scratch_backing_memory_byte_size;
  u32 scratch_wave64_lane_byte_size;
  u32 queue_properties;
  u32 reserved3[2];
  u64 queue_inactive_signal;
  u32 reserved4[14];
};
static_assert(sizeof(AmdQueue) == 256);
static_assert(offsetof(AmdQueue, write_dispatch_id) == 0x38);
static_assert(offsetof(AmdQueue, read_dispatch_id) == 0x80);
static_assert(offsetof(AmdQueue, compute_tmpring_size) == 0x8c);
static_assert(offsetof(AmdQueue, scratch_backing_memory_location) == 0xa0);
static_assert(offsetof(AmdQueue, scratch_wave64_lane_byte_size) == 0xb0);
static_assert(offsetof(AmdQueue, queue_inactive_signal) == 0xc0);

// What the CP and ROCr's trap handler store into queue_inactive_signal, as AqlQueue's
// DynamicScratchHandler decodes it (amd_aql_queue.cpp).
enum QueueInactive : u64 {
  inactive_scratch_wave64 = 0x1,  // recoverable: the runtime grows the scratch and stores 0
  inactive_invalid_dim = 0x2,
  inactive_invalid_group_memory = 0x4,
  inactive_invalid_code = 0x8,
  inactive_invalid_packet = 0x20,
  inactive_group_too_large = 0x40,
  inactive_out_of_vgprs = 0x80,
  inactive_invalid_vendor_packet = 0x100,
  inactive_scratch_reclaim = 0x200,  // a scratch allocation for one dispatch is no longer used
  inactive_memory_violation = 0x20000000,
  inactive_illegal_instruction = 0x40000000,
  inactive_trap = 0x80000000,
};

// ---- kernel descriptor ----

// The fields the CP reads lie at the same offsets in the kernel descriptor of code objects v3 and
// later and in amd_kernel_code_t, which ROCr's blit shaders still carry.
struct KernelDescriptor {
  u32 group_segment_fixed_size;
  u32 private_segment_fixed_size;
  u32 kernarg_size;
  u32 reserved0;
  i64 code_entry_offset;  // from the descriptor's own address
  u8 reserved1[20];
  u32 rsrc3;
  u32 rsrc1;
  u32 rsrc2;
  u16 properties;
  u8 reserved2[6];
};
static_assert(sizeof(KernelDescriptor) == 64);
static_assert(offsetof(KernelDescriptor, code_entry_offset) == 16);
static_assert(offsetof(KernelDescriptor, rsrc3) == 44);
static_assert(offsetof(KernelDescriptor, rsrc1) == 48);
static_assert(offsetof(KernelDescriptor, properties) == 56);

// kernel_code_properties: which user SGPRs the CP fills, in this order.
enum KernelProperties : u16 {
  sgpr_private_segment_buffer = 1 << 0,  // 4 SGPRs
  sgpr_dispatch_ptr = 1 << 1,            // 2
  sgpr_queue_ptr = 1 << 2,               // 2
  sgpr_kernarg_ptr = 1 << 3,             // 2
  sgpr_dispatch_id = 1 << 4,             // 2
  sgpr_flat_scratch_init = 1 << 5,       // 2
  sgpr_private_segment_size = 1 << 6,    // 1
  sgpr_grid_count_x = 1 << 7,            // 1 each, amd_kernel_code_t only
  sgpr_grid_count_y = 1 << 8,
  sgpr_grid_count_z = 1 << 9,
};

}  // namespace gp::abi
