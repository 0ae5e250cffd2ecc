// SDMA packets of gfx9 (SDMA 4.x). Data only; all values are dwords of the packet.
// Sources: Linux drivers/gpu/drm/amd/amdgpu/vega10_sdma_pkt_open.h; ROCR-Runtime
// core/inc/sdma_registers.h.
#pragma once

#include "libc/types.h"

namespace gp::abi {

enum SdmaOp : u8 {
  sdma_nop = 0,
  sdma_copy = 1,
  sdma_write = 2,
  sdma_fence = 5,
  sdma_trap = 6,
  sdma_poll_regmem = 8,
  sdma_atomic = 10,
  sdma_const_fill = 11,
  sdma_timestamp = 13,
  sdma_gcr = 17,
};
enum SdmaSubOp : u8 {
  sdma_copy_linear = 0,
  sdma_copy_linear_rect = 4,
  sdma_write_linear = 0,
  sdma_timestamp_set = 0,
  sdma_timestamp_get = 1,
  sdma_timestamp_get_global = 2,
};

constexpr u32 sdma_op(u32 header) { return header & 0xff; }
constexpr u32 sdma_sub_op(u32 header) { return header >> 8 & 0xff; }

// Packet lengths in dwords.
constexpr u32 kSdmaCopyLinearDwords = 7;
constexpr u32 kSdmaCopyRectDwords = 13;
constexpr u32 kSdmaFenceDwords = 4;
constexpr u32 kSdmaTrapDwords = 2;
constexpr u32 kSdmaPollDwords = 6;
constexpr u32 kSdmaAtomicDwords = 8;
constexpr u32 kSdmaFillDwords = 5;
constexpr u32 kSdmaTimestampDwords = 3;
constexpr u32 kSdmaGcrDwords = 5;
constexpr u32 kSdmaMaxDwords = kSdmaCopyRectDwords;

// SDMA_PKT_ATOMIC operation, header bits 31:25: the returning atomics of the texture cache
// (TC_OP_ATOMIC_*_RTN_32, vega10_enum.h); the 64-bit form of each is 32 more.
enum SdmaAtomic : u8 {
  sdma_atomic_swap32 = 7,
  sdma_atomic_cmpswap32 = 8,
  sdma_atomic_add32 = 15,
  sdma_atomic_sub32 = 16,
  sdma_atomic_and32 = 21,
  sdma_atomic_or32 = 22,
  sdma_atomic_xor32 = 23,
  sdma_atomic_swap64 = 39,
  sdma_atomic_cmpswap64 = 40,
  sdma_atomic_add64 = 47,
};

// SDMA_PKT_POLL_REGMEM function, header bits 30:28.
enum SdmaPollFunction : u8 {
  sdma_poll_always = 0,
  sdma_poll_lt = 1,
  sdma_poll_le = 2,
  sdma_poll_eq = 3,
  sdma_poll_ne = 4,
  sdma_poll_ge = 5,
  sdma_poll_gt = 6,
};
constexpr u32 kSdmaPollMemory = 1u << 31;  // clear: a register (HDP flush)

}  // namespace gp::abi
