#include "isa/exec/dpp.h"

#include <array>
#include <memory>

#include "isa/exec/vector_types.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

// Values of dpp_ctrl. Shifts and rotations carry the distance in the low four bits.
enum DppControl : u32 {
  dpp_quad_perm_last = 0xff,
  dpp_row_shl = 0x100,
  dpp_row_shr = 0x110,
  dpp_row_ror = 0x120,
  dpp_wave_shl = 0x130,
  dpp_wave_rol = 0x134,
  dpp_wave_shr = 0x138,
  dpp_wave_ror = 0x13c,
  dpp_row_mirror = 0x140,
  dpp_row_half_mirror = 0x141,
  dpp_row_bcast15 = 0x142,
  dpp_row_bcast31 = 0x143,
  dpp_row_newbcast = 0x150,  // gfx90a
};

constexpr int kRow = 16;
constexpr int kNoLane = -1;
constexpr int kReserved = -2;

// The lane that `lane` reads from.
int source_lane(u32 control, int lane) {
  const int row = lane & ~(kRow - 1), column = lane & (kRow - 1);
  const int distance = static_cast<int>(control & 15);
  if (control <= dpp_quad_perm_last) {
    return (lane & ~3) | static_cast<int>(control >> (2 * (lane & 3)) & 3);
  }
  switch (control) {
    case dpp_wave_shl: return lane + 1 < kLanes ? lane + 1 : kNoLane;
    case dpp_wave_rol: return (lane + 1) % kLanes;
    case dpp_wave_shr: return lane - 1;  // lane 0: kNoLane
    case dpp_wave_ror: return (lane + kLanes - 1) % kLanes;
    case dpp_row_mirror: return row | (kRow - 1 - column);
    case dpp_row_half_mirror: return lane ^ 7;
    case dpp_row_bcast15: return row - 1;  // the last lane of the row before
    case dpp_row_bcast31: return lane >= 32 ? 31 : kNoLane;
    default: break;
  }
  if (distance == 0 && control < dpp_row_newbcast) {
    return kReserved;
  }
  switch (control & ~15u) {
    case dpp_row_shl: return column + distance < kRow ? lane + distance : kNoLane;
    case dpp_row_shr: return column >= distance ? lane - distance : kNoLane;
    case dpp_row_ror: return row | ((column + kRow - distance) % kRow);
    case dpp_row_newbcast: return row | distance;
    default: return kReserved;
  }
}

using DppMaps = std::array<DppMap, 512>;

std::unique_ptr<DppMaps> build_maps() {
  auto maps = std::make_unique<DppMaps>();
  for (u32 control = 0; control < maps->size(); ++control) {
    DppMap& map = (*maps)[control];
    map = {.from = {}, .in_range = 0, .defined = true};
    for (int lane = 0; lane < kLanes; ++lane) {
      const int from = source_lane(control, lane);
      map.defined = map.defined && from != kReserved;
      map.from[lane] = from >= 0 ? static_cast<u8>(from) : 0;
      map.in_range |= u64{from >= 0} << lane;
    }
  }
  return maps;
}

// The lanes that row_mask and bank_mask leave enabled: bit r of row_mask is lanes 16r..16r+15, bit
// b of bank_mask is lanes 4b..4b+3 of every row.
u64 enabled_lanes(u32 ext) {
  u64 lanes = 0;
  for (int quad = 0; quad < kLanes / 4; ++quad) {
    const bool enabled = (ext >> 28 >> (quad / 4) & 1) != 0 && (ext >> 24 >> (quad % 4) & 1) != 0;
    lanes |= (enabled ? u64{0xf} : 0) << (quad * 4);
  }
  return lanes;
}

}  // namespace

const DppMap& dpp_map(u32 ext) {
  static const std::unique_ptr<DppMaps> maps = build_maps();
  return (*maps)[ext >> 8 & 511];
}

DppLanes dpp_lanes(u32 ext, u64 exec) {
  const DppMap& map = dpp_map(ext);
  u64 readable = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    readable |= (exec >> map.from[lane] & 1) << lane;
  }
  readable &= map.in_range;
  const u64 enabled = exec & enabled_lanes(ext);
  const bool bound_ctrl = (ext >> 19 & 1) != 0;
  return {.zero = ~readable, .writable = bound_ctrl ? enabled : enabled & readable};
}

void dpp_permute(u32 ext, u64 zero, const u32* in, u32* out) {
  const DppMap& map = dpp_map(ext);
  LaneBuffer zeroed;
  expand_mask(zero, zeroed.lane);
  for (int lane = 0; lane < kLanes; ++lane) {
    out[lane] = in[map.from[lane]] & ~zeroed.lane[lane];
  }
}

}  // namespace vgpu::isa::VGPU_ENGINE
