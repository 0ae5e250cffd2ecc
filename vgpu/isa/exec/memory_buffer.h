// Buffer descriptors (V#) and the addresses of MUBUF and MTBUF instructions ("Vega ISA", 8.1.5).
//
//   index  = (idxen ? VGPR : 0) + (add_tid ? lane : 0)
//   offset = (offen ? VGPR : 0) + the instruction's offset + the dword's place; it does not wrap at
//            32 bits: compilers mask a lane with an offset of -1, which is out of range with all
//            that follows it
//   linear:   address = base + soffset + index * stride + offset
//   swizzled: records of `index_stride` neighbours are interleaved by elements of four bytes
#pragma once

#include "isa/exec/memory_access.h"
#include "isa/exec/memory_scratch.h"

namespace vgpu::isa::VGPU_ENGINE {

struct Buffer {
  u64 base;
  u64 soffset;
  u32 stride, records, index_stride;
  bool swizzle, add_tid;
  u32 word3;  // formats and component selection

  Buffer(const Wave& wave, const Inst& inst) {
    const u32* word = wave.s + inst.srsrc;
    base = word[0] | u64{word[1] & 0xffff} << 32;
    soffset = scalar32(wave, inst, inst.soffset);
    stride = word[1] >> 16 & 0x3fff;
    swizzle = word[1] >> 31;
    records = word[2];
    word3 = word[3];
    index_stride = 8u << (word3 >> 21 & 3);
    add_tid = word3 >> 23 & 1;
    if (add_tid) {
      stride |= (word3 >> 15 & 15) << 14;  // the data format holds the upper bits then
    }
  }

  // The descriptor of private memory: what memory_scratch.h describes.
  bool is_scratch(const Inst& inst) const {
    return swizzle && add_tid && index_stride == kLanes && !(inst.flags & inst_idxen);
  }

  u64 buffer_offset(u32 index, u64 offset) const {
    if (!swizzle) {
      return u64{index} * stride + offset;
    }
    constexpr u32 kElement = 4;  // fixed on gfx9
    const u64 row = u64{index / index_stride} * stride + offset / kElement * kElement;
    return row * index_stride + u64{index % index_stride} * kElement + offset % kElement;
  }

  // Structured buffers check the index, raw ones the byte.
  bool in_range(u32 index, u64 at, u32 bytes) const {
    return swizzle && stride ? index < records : at + soffset + bytes <= records;
  }
};

// The offsets of lanes into private memory.
inline void scratch_buffer_offsets(Wave& wave, const Inst& inst, LaneBuffer& offset) {
  broadcast(offset, static_cast<u32>(inst.imm));
  if (inst.flags & inst_offen) {
    const u32* voffset = vector(wave, inst.src[0]);
    for (u32 lane = 0; lane < kLanes; ++lane) {
      offset.lane[lane] += voffset[lane];
    }
  }
}

struct BufferLanes {
  LaneBuffer index, voffset;
  u32 offset;            // the instruction's
  LaneBuffer low, high;  // of the last addresses()

  BufferLanes(Wave& wave, const Inst& inst, const Buffer& buffer)
      : offset(static_cast<u32>(inst.imm)) {
    const bool indexed = inst.flags & inst_idxen, offset_in_register = inst.flags & inst_offen;
    LaneBuffer zero;
    const u32* nothing = broadcast(zero, 0);
    const u32* vindex = indexed ? vector(wave, inst.src[0]) : nothing;
    const u32* offsets =
        offset_in_register ? vector(wave, static_cast<u16>(inst.src[0] + indexed)) : nothing;
    for (u32 lane = 0; lane < kLanes; ++lane) {
      index.lane[lane] = vindex[lane] + (buffer.add_tid ? lane : 0);
      voffset.lane[lane] = offsets[lane];
    }
  }

  // Where `bytes` at `more` after each lane's offset lie, and which lanes are in range.
  LaneAddresses addresses(const Buffer& buffer, u32 more, u32 bytes, u64 exec, u64& in_range) {
    in_range = 0;
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const u64 at =
          buffer.buffer_offset(index.lane[lane], u64{voffset.lane[lane]} + offset + more);
      low.lane[lane] = static_cast<u32>(at);
      high.lane[lane] = static_cast<u32>(at >> 32);
      in_range |= u64{buffer.in_range(index.lane[lane], at, bytes)} << lane;
    }
    return LaneAddresses::of_pairs(buffer.base + buffer.soffset, low.lane, high.lane, exec);
  }
};

}  // namespace vgpu::isa::VGPU_ENGINE
