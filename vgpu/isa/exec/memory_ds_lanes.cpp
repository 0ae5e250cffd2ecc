// DS instructions that exchange data between lanes or waves: permutes and swizzles, which do not
// touch LDS memory, append and consume, which work for the whole wave, and global wave sync.
#include "isa/exec/memory.h"
#include "isa/exec/memory_lds.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

u32 lane_of(u32 address, i32 offset) { return (address + static_cast<u32>(offset)) / 4 % kLanes; }

// Writes the result to the active lanes.
void set_active(Wave& wave, u16 dst, const LaneBuffer& result) {
  u32* to = vector(wave, dst);
  for_lanes(wave.exec(), [&](u32 lane) { to[lane] = result.lane[lane]; });
}

// Each active lane sends its value to another; nobody's target reads zero.
void permute(Wave& wave, const Inst& inst) {
  const u32* address = vector(wave, inst.src[0]);
  const u32* data = vector(wave, inst.src[1]);
  LaneBuffer result = {};
  for_lanes(wave.exec(),
            [&](u32 lane) { result.lane[lane_of(address[lane], inst.imm)] = data[lane]; });
  set_active(wave, inst.dst, result);
}

// Each active lane fetches the value of another; an inactive one gives zero.
void backward_permute(Wave& wave, const Inst& inst) {
  const u32* address = vector(wave, inst.src[0]);
  const u32* mask = exec_mask(wave);
  LaneBuffer data, result;
  const u32* source = vector(wave, inst.src[1]);
  for (int lane = 0; lane < kLanes; ++lane) {
    data.lane[lane] = source[lane] & mask[lane];
  }
  const Lanes16 offset = Lanes16::all(static_cast<u32>(inst.imm));
  for (u32 lane = 0; lane < kLanes; lane += kGroup) {
    const Lanes16 from = (Lanes16::load(address + lane) + offset).shifted_right<2>();
    from.select(data.lane).store(result.lane + lane);
  }
  set_active(wave, inst.dst, result);
}

// The lane that `lane` reads from under a swizzle pattern ("Vega ISA", DS_SWIZZLE_B32).
u32 swizzle_source(u32 lane, u32 pattern) {
  const u32 group = lane & 0x20, in_group = lane & 0x1f;
  if (pattern >= 0xe000) {  // FFT
    const u32 mask = pattern & 0x1f;
    u32 reversed = 0;
    for (u32 bit = 0; bit < 5; ++bit) {
      reversed |= (in_group >> bit & 1) << (4 - bit);
    }
    return group | reversed >> std::popcount(mask) | (in_group & mask);
  }
  if (pattern >= 0xc000) {  // rotate
    const u32 mask = pattern & 0x1f;
    const u32 rotate = pattern >> 5 & 0x1f;
    const u32 moved = pattern & 0x400 ? in_group - rotate : in_group + rotate;
    return group | (in_group & mask) | (moved & ~mask & 0x1f);
  }
  if (pattern & 0x8000) {  // within quads
    return (lane & ~3u) | (pattern >> (lane & 3) * 2 & 3);
  }
  const u32 and_mask = pattern & 0x1f, or_mask = pattern >> 5 & 0x1f,
            xor_mask = pattern >> 10 & 0x1f;
  return group | (((in_group & and_mask) | or_mask) ^ xor_mask);
}

void swizzle(Wave& wave, const Inst& inst) {
  const u32* data = vector(wave, inst.src[0]);
  const u64 exec = wave.exec();
  LaneBuffer result;
  for (u32 lane = 0; lane < kLanes; ++lane) {
    const u32 from = swizzle_source(lane, inst.imm & 0xffff);
    result.lane[lane] = exec >> from & 1 ? data[from] : 0;
  }
  set_active(wave, inst.dst, result);
}

// Adds the number of active lanes to a counter in LDS, or subtracts it; every lane gets the old
// value. M0 holds the base address.
template <class Operation>
void count_lanes(Wave& wave, const Inst& inst) {
  const u32 address = (wave.s[op_m0] & 0xffff) + (inst.imm & 0xffff);
  const auto lanes = static_cast<u32>(std::popcount(wave.exec()));
  LaneBuffer result;
  broadcast(result, modify_lds<Operation>(wave, address, lanes, 0));
  set_active(wave, inst.dst, result);
}

// Global wave sync. The resource is the instruction's offset plus M0[21:16]; the value comes from
// the first active lane and is one less than the number of waves that must arrive.
u32 gws_resource(const Wave& wave, const Inst& inst) {
  return ((inst.imm & 0x3f) + (wave.s[op_m0] >> 16 & 0x3f)) & 0x3f;
}

u32 first_active(Wave& wave, u16 code) {
  const u64 exec = wave.exec();
  return vector(wave, code)[exec ? std::countr_zero(exec) : 0];
}

void gws_init(Wave& wave, const Inst& inst) {
  wave.machine->gws_init(wave, gws_resource(wave, inst), first_active(wave, inst.src[0]) + 1);
}

void gws_barrier(Wave& wave, const Inst& inst) {
  if (!wave.machine->gws_barrier(wave, gws_resource(wave, inst))) {
    wave.ip = &inst;
    wave.stop_with(Stop::gws_wait);
  }
}

}  // namespace

Handler select_ds_cross_lane(const Inst& inst) {
  switch (inst.op->op) {
    case Op::ds_gws_init: return gws_init;
    case Op::ds_gws_barrier: return gws_barrier;
    default: break;
  }
  if (inst.flags & inst_gds) {
    return nullptr;
  }
  switch (inst.op->op) {
    case Op::ds_permute_b32: return permute;
    case Op::ds_bpermute_b32: return backward_permute;
    case Op::ds_swizzle_b32: return swizzle;
    case Op::ds_append: return count_lanes<Add<u32>>;
    case Op::ds_consume: return count_lanes<Subtract<u32>>;
    default: return nullptr;
  }
}

}  // namespace vgpu::isa::VGPU_ENGINE
