#include "device/occupancy.h"

#include <algorithm>
#include <bit>

namespace vgpu::device {
namespace {

// SGPRs of a SIMD; shared by its waves in blocks of 16 (AMDGPUUsage: 800 on gfx9).
constexpr u32 kSgprsPerSimd = 800;
// Work-groups of several waves need a barrier resource; a CU has 16.
constexpr u32 kBarriersPerCu = 16;
constexpr u32 kLdsGranule = 512;

constexpr u32 round_up(u32 value, u32 granule) { return (value + granule - 1) / granule * granule; }

}  // namespace

u32 vgprs_allocated(isa::Arch arch, u32 vgprs) {
  return round_up(std::max(vgprs, 1u), arch == isa::Arch::gfx90a ? 8 : 4);
}
u32 lds_allocated(u32 bytes) { return round_up(bytes, kLdsGranule); }

Occupancy::Occupancy(const GpuConfig& config)
    : config_(config), cus_(std::clamp(config.cus, 1u, kMaxCus), empty_cu()) {}

Occupancy::Cu Occupancy::empty_cu() const {
  Cu cu;
  cu.simds.resize(config_.simds_per_cu, Simd{config_.vgprs_per_simd, kSgprsPerSimd, 0});
  cu.lds = config_.lds_per_cu;
  return cu;
}

CuSet Occupancy::cus_of_mask(std::span<const u32> mask) const {
  CuSet set;
  for (u32 i = 0; i < cus() && i / 32 < mask.size(); ++i) {
    set[i] = mask[i / 32] >> i % 32 & 1;
  }
  return set.any() ? set : CuSet().set();
}

// Each wave goes to the SIMD with the fewest waves that still has room.
bool Occupancy::place_on(Cu& cu, const Footprint& need, Placement& place) const {
  if (cu.lds < need.lds || (need.waves > 1 && cu.groups == kBarriersPerCu)) {
    return false;
  }
  const Cu before = cu;
  for (u32 wave = 0; wave < need.waves; ++wave) {
    Simd* best = nullptr;
    for (Simd& simd : cu.simds) {
      const u32 taken = static_cast<u32>(std::popcount(simd.slots));
      if (taken < config_.waves_per_simd && simd.vgprs >= need.vgprs && simd.sgprs >= need.sgprs &&
          (!best || taken < static_cast<u32>(std::popcount(best->slots)))) {
        best = &simd;
      }
    }
    if (!best) {
      cu = before;
      return false;
    }
    const u32 slot = static_cast<u32>(std::countr_one(best->slots));
    best->slots |= 1u << slot;
    best->vgprs -= need.vgprs;
    best->sgprs -= need.sgprs;
    place.simd[wave] = static_cast<u8>(best - cu.simds.data());
    place.slot[wave] = static_cast<u8>(slot);
  }
  cu.lds -= need.lds;
  cu.groups += need.waves > 1;
  return true;
}

std::optional<Placement> Occupancy::place(const Footprint& need, const CuSet& allowed) {
  const u32 count = cus();
  for (u32 i = 0; i < count; ++i) {
    const u32 index = (next_cu_ + i) % count;
    Placement place;
    place.cu = index;
    if (allowed[index] && place_on(cus_[index], need, place)) {
      next_cu_ = (index + 1) % count;
      waves_ += need.waves;
      return place;
    }
  }
  return std::nullopt;
}

void Occupancy::release(const Footprint& need, const Placement& place) {
  Cu& cu = cus_[place.cu];
  for (u32 wave = 0; wave < need.waves; ++wave) {
    Simd& simd = cu.simds[place.simd[wave]];
    simd.slots &= ~(1u << place.slot[wave]);
    simd.vgprs += need.vgprs;
    simd.sgprs += need.sgprs;
  }
  cu.lds += need.lds;
  cu.groups -= need.waves > 1;
  waves_ -= need.waves;
}

bool Occupancy::fits_empty_cu(const Footprint& need) const {
  Cu cu = empty_cu();
  Placement place;
  return place_on(cu, need, place);
}

}  // namespace vgpu::device
