// Where waves stand: compute units, their SIMDs, and what a wave takes of them.
//
// A work-group lives on one CU; its waves are spread over the SIMDs. A wave takes a wave slot,
// VGPRs and SGPRs of its SIMD, the group takes LDS of the CU. A group is placed whole or not at
// all, and leaves whole. Numbers: LLVM AMDGPUUsage (granules, register files), "CDNA2 ISA" 3.6.
#pragma once

#include <array>
#include <bitset>
#include <optional>
#include <span>
#include <vector>

#include "device/gpu.h"

namespace vgpu::device {

// What one work-group needs. Registers are per wave and already rounded to granules.
struct Footprint {
  u32 waves = 1;
  u32 vgprs = 0;
  u32 sgprs = 0;
  u32 lds = 0;
  bool operator==(const Footprint&) const = default;
};

// A work-group has at most 1024 work-items.
constexpr u32 kMaxWavesPerGroup = 16;
constexpr u32 kMaxGroupItems = kMaxWavesPerGroup * 64;

struct Placement {
  u32 cu = 0;
  std::array<u8, kMaxWavesPerGroup> simd{};  // per wave
  std::array<u8, kMaxWavesPerGroup> slot{};  // wave slot within the SIMD
};

constexpr u32 kMaxCus = 512;
using CuSet = std::bitset<kMaxCus>;

class Occupancy {
 public:
  explicit Occupancy(const GpuConfig& config);

  // The CUs of a KFD mask: empty or all-zero means all. Bits beyond the last CU are ignored.
  CuSet cus_of_mask(std::span<const u32> mask) const;

  // Takes room on one of `allowed`, or returns nothing. Successive groups go to different CUs.
  std::optional<Placement> place(const Footprint& need, const CuSet& allowed);
  void release(const Footprint& need, const Placement& place);

  // Whether an empty CU has room for it.
  bool fits_empty_cu(const Footprint& need) const;

  u32 cus() const { return static_cast<u32>(cus_.size()); }
  u32 waves_resident() const { return waves_; }

 private:
  struct Simd {
    u32 vgprs = 0, sgprs = 0;  // free
    u32 slots = 0;             // one bit per wave slot taken
  };
  struct Cu {
    std::vector<Simd> simds;
    u32 lds = 0;     // free
    u32 groups = 0;  // groups of more than one wave
  };
  Cu empty_cu() const;
  bool place_on(Cu& cu, const Footprint& need, Placement& place) const;

  GpuConfig config_;
  std::vector<Cu> cus_;
  u32 next_cu_ = 0;
  u32 waves_ = 0;
};

// Rounds up to allocation granules.
u32 vgprs_allocated(isa::Arch arch, u32 vgprs);
u32 lds_allocated(u32 bytes);

}  // namespace vgpu::device
