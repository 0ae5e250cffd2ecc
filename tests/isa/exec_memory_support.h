// What loads and stores move, byte by byte: the reference for all memory instructions.
#pragma once

#include <functional>

#include "isa/exec_support.h"

namespace vgpu::isa::test {

// A load by its mnemonic's suffix: bytes in memory and registers after it.
struct LoadCase {
  const char* suffix;
  int bytes, registers;
  // The value of the (first) register from the bytes; wider loads are dwords.
  u32 (*value)(u32 raw);
};

inline const std::vector<LoadCase>& load_cases() {
  static const std::vector<LoadCase> cases = {
      {"ubyte", 1, 1, [](u32 raw) { return raw & 0xff; }},
      {"sbyte", 1, 1, [](u32 raw) { return ((raw & 0xff) ^ 0x80) - 0x80; }},
      {"ushort", 2, 1, [](u32 raw) { return raw & 0xffff; }},
      {"sshort", 2, 1, [](u32 raw) { return ((raw & 0xffff) ^ 0x8000) - 0x8000; }},
      {"dword", 4, 1, [](u32 raw) { return raw; }},
      {"dwordx2", 8, 2, [](u32 raw) { return raw; }},
      {"dwordx3", 12, 3, [](u32 raw) { return raw; }},
      {"dwordx4", 16, 4, [](u32 raw) { return raw; }},
      // With SRAM ECC the other half becomes zero.
      {"ubyte_d16", 1, 1, [](u32 raw) { return raw & 0xff; }},
      {"ubyte_d16_hi", 1, 1, [](u32 raw) { return (raw & 0xff) << 16; }},
      {"sbyte_d16", 1, 1, [](u32 raw) { return (((raw & 0xff) ^ 0x80) - 0x80) & 0xffff; }},
      {"sbyte_d16_hi", 1, 1, [](u32 raw) { return (((raw & 0xff) ^ 0x80) - 0x80) << 16; }},
      {"short_d16", 2, 1, [](u32 raw) { return raw & 0xffff; }},
      {"short_d16_hi", 2, 1, [](u32 raw) { return raw << 16; }},
  };
  return cases;
}

struct StoreCase {
  const char* suffix;
  int bytes, registers, shift;  // of the register's value
};

inline const std::vector<StoreCase>& store_cases() {
  static const std::vector<StoreCase> cases = {
      {"byte", 1, 1, 0},          {"byte_d16_hi", 1, 1, 16}, {"short", 2, 1, 0},
      {"short_d16_hi", 2, 1, 16}, {"dword", 4, 1, 0},        {"dwordx2", 8, 2, 0},
      {"dwordx3", 12, 3, 0},      {"dwordx4", 16, 4, 0},
  };
  return cases;
}

// "v40" or "v[40:42]"
inline std::string registers(int first, int count) {
  const std::string start = std::to_string(first);
  return count == 1 ? "v" + start : "v[" + start + ":" + std::to_string(first + count - 1) + "]";
}

// A test whose data memory is a list of pages that are neighbours for the GPU but not on the host.
class MemoryTest : public ExecTest {
 protected:
  static constexpr u64 kScattered = 0x600000000000;
  static constexpr u64 kPages = 6;

  MemoryTest() {
    for (u64 page = 0; page < kPages; ++page) {
      memory.map(kScattered + page * kPageSize, kPageSize, host_page(page), page_write);
    }
  }
  // Neighbours lie two pages apart, in the other direction.
  u8* host_page(u64 page) { return data(kData) + (2 * (kPages - 1 - page) + 1) * kPageSize; }

  u8& byte(u64 va) {
    return va >= kData ? *data(va) : host_page((va - kScattered) / kPageSize)[va % kPageSize];
  }
  u32 raw(u64 va, int bytes) {
    u32 value = 0;
    for (int i = 0; i < bytes; ++i) {
      value |= u32{byte(va + i)} << 8 * i;
    }
    return value;
  }

  // How lanes' addresses may lie to each other.
  enum class Pattern {
    side_by_side,
    same,
    random_in_page,
    random_in_buffer,
    random_scattered,
    across_pages
  };
  static constexpr Pattern kPatterns[] = {Pattern::side_by_side,     Pattern::same,
                                          Pattern::random_in_page,   Pattern::random_in_buffer,
                                          Pattern::random_scattered, Pattern::across_pages};

  // Addresses for accesses of `bytes` (multiples of `align`) that stay clear of other lanes'.
  std::vector<u64> addresses(Pattern pattern, int bytes, u64 align = 1) {
    std::vector<u64> result(kLanes);
    const u64 slot = 32;  // a lane's own place, so that stores do not overlap
    std::vector<u64> order(kLanes);
    for (u64 i = 0; i < kLanes; ++i) {
      order[i] = i;
    }
    std::shuffle(order.begin(), order.end(), std::mt19937_64(random64()));
    const u64 start = random64() % 256 / align * align;
    for (u64 lane = 0; lane < kLanes; ++lane) {
      const u64 jitter = random64() % (slot - bytes + 1) / align * align;
      switch (pattern) {
        case Pattern::side_by_side: result[lane] = kData + start + lane * bytes; break;
        case Pattern::same: result[lane] = kData + start; break;
        case Pattern::random_in_page: result[lane] = kData + order[lane] * slot + jitter; break;
        case Pattern::random_in_buffer:
          result[lane] = kData + order[lane] * (kDataPages * kPageSize / kLanes) + jitter;
          break;
        case Pattern::random_scattered:
          result[lane] = kScattered + order[lane] * (kPages * kPageSize / kLanes) + jitter;
          break;
        case Pattern::across_pages:
          result[lane] = kScattered + (1 + lane % (kPages - 1)) * kPageSize - 8 * slot +
                         lane / (kPages - 1) * slot + jitter;
          break;
      }
    }
    return result;
  }
};

}  // namespace vgpu::isa::test
