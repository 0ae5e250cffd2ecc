// A wave with memory, LDS and a device around it, on which tests run assembly.
//
// Each test runs on every engine this CPU supports. Instructions are written as assembly and
// assembled by llvm-mc, so a test reads like the program it stands for.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "isa/code_cache.h"

namespace vgpu::isa::test {

// The words of a program; fails the test if llvm-mc does not accept it.
std::vector<u32> assemble(Arch arch, const std::string& text);
bool have_assembler();

// A device that records what waves ask of it.
struct RecordingMachine : Machine {
  void send_interrupt(Wave&, u32 m0) override { interrupts.push_back(m0); }
  u64 real_time() override { return 0x1122334455667788; }
  u64 shader_time() override { return 0x99aabbccddeeff00; }
  void gws_init(Wave&, u32 resource, u32 count) override { inits.push_back({resource, count}); }
  bool gws_barrier(Wave&, u32 resource) override {
    barriers.push_back(resource);
    return gws_open;
  }

  std::vector<u32> interrupts, barriers;
  std::vector<std::pair<u32, u32>> inits;
  bool gws_open = false;
};

// Page-aligned host memory that a page table may point to.
class HostPages {
 public:
  explicit HostPages(u64 pages);
  ~HostPages();
  HostPages(const HostPages&) = delete;
  HostPages& operator=(const HostPages&) = delete;
  u8* data() const { return data_; }
  u64 size() const { return size_; }

 private:
  u8* data_;
  u64 size_;
};

class ExecTest : public testing::TestWithParam<const char*> {
 protected:
  static constexpr u64 kCode = 0x40000000;
  static constexpr u64 kData = 0x7f0000000000;  // 16 pages, readable and writable
  static constexpr u64 kDataPages = 16;
  static constexpr u32 kLdsSize = 64 << 10;
  static constexpr u32 kVgprs = 256;

  ExecTest();
  void SetUp() override;

  // Runs the assembly from its beginning until the wave stops; an s_endpgm is added. Gives up
  // after `budget` instructions.
  Stop run(const std::string& text, u64 budget = 100000);
  // Puts a program at kCode without running it.
  void load(const std::string& text);
  // Continues from wave.pc.
  Stop resume(u64 budget = 100000);
  // Decodes and runs for another architecture from now on.
  void use(Arch arch);

  u32* v(u32 reg) { return wave.v + reg * kLanes; }
  u32* a(u32 reg) { return wave.acc + reg * kLanes; }
  void set_s64(u32 reg, u64 value) {
    wave.s[reg] = static_cast<u32>(value);
    wave.s[reg + 1] = static_cast<u32>(value >> 32);
  }
  u64 s64(u32 reg) const { return wave.s[reg] | u64{wave.s[reg + 1]} << 32; }
  // Both registers of a 64-bit value per lane.
  void set_v64(u32 reg, u32 lane, u64 value) {
    v(reg)[lane] = static_cast<u32>(value);
    v(reg + 1)[lane] = static_cast<u32>(value >> 32);
  }
  u64 v64(u32 reg, u32 lane) { return v(reg)[lane] | u64{v(reg + 1)[lane]} << 32; }
  bool active(u32 lane) const { return wave.exec() >> lane & 1; }

  // Fills all vector registers, SGPRs 0 to 101, VCC, LDS and data memory with random bits.
  void randomize();
  u64 random64() { return random_(); }
  u32 random32() { return static_cast<u32>(random_()); }
  // EXEC masks worth testing: full, single lanes, holes, random.
  std::vector<u64> exec_masks();

  u8* data(u64 va) { return data_.data() + (va - kData); }
  template <class T>
  T data_at(u64 va) {
    T value;
    std::memcpy(&value, data(va), sizeof(T));
    return value;
  }
  template <class T>
  T lds_at(u32 address) {
    T value;
    std::memcpy(&value, lds_.data() + address, sizeof(T));
    return value;
  }

  PageTable memory;
  RecordingMachine machine;
  Wave wave;
  std::atomic<u32> attention{0};

 private:
  const Engine* engine_;
  HostPages code_, data_, registers_, lds_;
  std::unique_ptr<CodeCache> cache_;
  std::mt19937_64 random_{20240229};
};

#define EXEC_TEST_SUITE(suite) INSTANTIATE_TEST_SUITE_P(Engines, suite, testing::Values("v3", "v4"))

}  // namespace vgpu::isa::test
