// Atomics of FLAT, GLOBAL, MUBUF, SMEM and DS.
#include <cmath>
#include <thread>

#include "isa/exec_memory_support.h"

namespace vgpu::isa::test {
namespace {

float f32(u64 bits) { return std::bit_cast<float>(static_cast<u32>(bits)); }
u64 of_f32(float value) { return std::bit_cast<u32>(value); }
double f64(u64 bits) { return std::bit_cast<double>(bits); }
u64 of_f64(double value) { return std::bit_cast<u64>(value); }

// What an operation leaves in memory. a: the data, b: what follows it in the registers. Values are
// `bits` wide; results are cut to that by the caller.
struct Operation {
  const char* name;
  u64 (*next)(u64 old, u64 a, u64 b, int bits);
  bool floating = false;
};

i64 sign(u64 value, int bits) { return static_cast<i64>(value << (64 - bits)) >> (64 - bits); }

const std::vector<Operation>& integer_operations() {
  static const std::vector<Operation> operations = {
      {"swap", [](u64, u64 a, u64, int) { return a; }},
      {"cmpswap", [](u64 old, u64 a, u64 b, int) { return old == b ? a : old; }},
      {"add", [](u64 old, u64 a, u64, int) { return old + a; }},
      {"sub", [](u64 old, u64 a, u64, int) { return old - a; }},
      {"smin", [](u64 old, u64 a, u64, int n) { return sign(a, n) < sign(old, n) ? a : old; }},
      {"umin", [](u64 old, u64 a, u64, int) { return std::min(a, old); }},
      {"smax", [](u64 old, u64 a, u64, int n) { return sign(a, n) > sign(old, n) ? a : old; }},
      {"umax", [](u64 old, u64 a, u64, int) { return std::max(a, old); }},
      {"and", [](u64 old, u64 a, u64, int) { return old & a; }},
      {"or", [](u64 old, u64 a, u64, int) { return old | a; }},
      {"xor", [](u64 old, u64 a, u64, int) { return old ^ a; }},
      {"inc", [](u64 old, u64 a, u64, int) { return old < a ? old + 1 : 0; }},
      {"dec", [](u64 old, u64 a, u64, int) { return old != 0 && old <= a ? old - 1 : a; }},
  };
  return operations;
}

class Atomics : public MemoryTest {
 protected:
  u64 value_at(u64 va, int bytes) {
    return bytes == 4 ? raw(va, 4) : raw(va, 4) | u64{raw(va + 4, 4)} << 32;
  }
  u64 lane_value(u32 reg, u32 lane, int bytes) {
    return bytes == 4 ? v(reg)[lane] : v64(reg, lane);
  }
  void put(u64 va, u64 value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      byte(va + i) = static_cast<u8>(value >> 8 * i);
    }
  }
  u64 cut(u64 value, int bytes) { return bytes == 4 ? value & 0xffffffff : value; }

  // Lanes take turns in ascending order on memory at va[lane]; v[40:] is the data.
  void check(const std::string& instruction, const Operation& operation, int bytes,
             const std::vector<u64>& va, bool returns) {
    SCOPED_TRACE(instruction);
    const u32 words = bytes / 4;
    std::vector<u64> olds(kLanes), finals(kLanes);
    std::map<u64, u64> model;
    for (u32 lane = 0; lane < kLanes; ++lane) {
      if (random32() % 4 == 0) {  // so that comparisons succeed at times
        set_v64(40 + words, lane, value_at(va[lane], bytes) | (bytes == 4 ? random64() << 32 : 0));
      }
    }
    const std::vector<u32> before(v(60), v(60) + 2 * kLanes);
    for (u32 lane = 0; lane < kLanes; ++lane) {
      if (!active(lane)) {
        continue;
      }
      auto [cell, _] = model.try_emplace(va[lane], value_at(va[lane], bytes));
      olds[lane] = cell->second;
      cell->second = cut(operation.next(cell->second, lane_value(40, lane, bytes),
                                        lane_value(40 + words, lane, bytes), bytes * 8),
                         bytes);
    }
    ASSERT_EQ(run(instruction), Stop::end) << wave.fault.reason;
    for (const auto& [address, value] : model) {
      ASSERT_EQ(value_at(address, bytes), value);
    }
    for (u32 lane = 0; lane < kLanes; ++lane) {
      for (u32 i = 0; i < words; ++i) {
        const u32 expected = active(lane) && returns ? static_cast<u32>(olds[lane] >> 32 * i)
                                                     : before[i * kLanes + lane];
        ASSERT_EQ(v(60 + i)[lane], expected) << lane;
      }
    }
  }

  void set_addresses(const std::vector<u64>& va, u64 minus = 0) {
    for (u32 lane = 0; lane < kLanes; ++lane) {
      set_v64(2, lane, va[lane] - minus);
    }
  }
};
EXEC_TEST_SUITE(Atomics);

TEST_P(Atomics, GlobalAndFlatIntegers) {
  for (const Operation& operation : integer_operations()) {
    for (int bytes : {4, 8}) {
      const int words = bytes / 4 * (std::string(operation.name) == "cmpswap" ? 2 : 1);
      const std::string name =
          std::string("atomic_") + operation.name + (bytes == 8 ? "_x2 " : " ");
      const std::string data = registers(40, words), old = registers(60, bytes / 4);
      for (Pattern pattern : {Pattern::side_by_side, Pattern::same, Pattern::random_scattered}) {
        for (u64 exec : {~u64{0}, random64()}) {
          wave.set_exec(exec);
          const auto va = addresses(pattern, bytes, bytes);
          set_addresses(va, 8);
          check("global_" + name + old + ", v[2:3], " + data + ", off offset:8 glc", operation,
                bytes, va, true);
          check("flat_" + name + "v[2:3], " + data + " offset:8", operation, bytes, va, false);
        }
      }
    }
  }
}

TEST_P(Atomics, FloatsInGlobalMemory) {
  const std::pair<Operation, int> cases[] = {
      {{"add_f32", [](u64 old, u64 a, u64, int) { return of_f32(f32(old) + f32(a)); }}, 4},
      {{"add_f64", [](u64 old, u64 a, u64, int) { return of_f64(f64(old) + f64(a)); }}, 8},
      {{"min_f64", [](u64 old, u64 a, u64, int) { return of_f64(std::fmin(f64(old), f64(a))); }},
       8},
      {{"max_f64", [](u64 old, u64 a, u64, int) { return of_f64(std::fmax(f64(old), f64(a))); }},
       8},
  };
  for (const auto& [operation, bytes] : cases) {
    for (Pattern pattern : {Pattern::same, Pattern::random_scattered}) {
      const auto va = addresses(pattern, bytes, bytes);
      for (u32 lane = 0; lane < kLanes; ++lane) {
        const double a = std::ldexp(static_cast<double>(static_cast<i32>(random32())), -16);
        const double b = std::ldexp(static_cast<double>(static_cast<i32>(random32())), -10);
        put(va[lane], bytes == 4 ? of_f32(static_cast<float>(a)) : of_f64(a), bytes);
        set_v64(40, lane, bytes == 4 ? of_f32(static_cast<float>(b)) : of_f64(b));
      }
      set_addresses(va);
      check(std::string("global_atomic_") + operation.name + " " + registers(60, bytes / 4) +
                ", v[2:3], " + registers(40, bytes / 4) + ", off glc",
            operation, bytes, va, true);
      if (bytes == 8) {
        check(std::string("flat_atomic_") + operation.name + " v[2:3], v[40:41]", operation, bytes,
              va, false);
      }
    }
  }
}

TEST_P(Atomics, CachesFlushSingleButKeepDoubleDenormals) {
  wave.mode = 0x2f0;  // the wave itself keeps all of them
  set_addresses(std::vector<u64>(kLanes, kData));
  wave.set_exec(1);
  put(kData, 5, 4);
  v(40)[0] = 7;
  ASSERT_EQ(run("global_atomic_add_f32 v[2:3], v40, off"), Stop::end);
  EXPECT_EQ(raw(kData, 4), 0u);
  put(kData, 5, 8);
  set_v64(40, 0, 7);
  ASSERT_EQ(run("global_atomic_add_f64 v[2:3], v[40:41], off"), Stop::end);
  EXPECT_EQ(value_at(kData, 8), 12u);
}

TEST_P(Atomics, AddsPackedHalves) {
  const auto va = addresses(Pattern::random_in_buffer, 4, 4);
  set_addresses(va);
  put(va[3], 0x3c00'4000, 4);  // 1, 2
  v(40)[3] = 0x4200'bc00;      // 3, -1
  ASSERT_EQ(run("global_atomic_pk_add_f16 v[2:3], v40, off"), Stop::end);
  EXPECT_EQ(raw(va[3], 4), 0x4400'3c00u);
}

TEST_P(Atomics, FlatReachesLdsAndPrivateMemory) {
  set_s64(op_flat_scratch, kScattered);
  std::vector<u32> shared(kLanes), own(kLanes);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    set_v64(2, lane, lane % 2 ? (u64{1} << 48) + lane * 8 : (u64{2} << 48) + 12);
    shared[lane] = lds_at<u32>(lane * 8);
    own[lane] = raw(kScattered + 3 * 256 + lane * 4, 4);
  }
  ASSERT_EQ(run("flat_atomic_add v60, v[2:3], v40 glc"), Stop::end);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    const u32 old = lane % 2 ? shared[lane] : own[lane];
    EXPECT_EQ(v(60)[lane], old);
    EXPECT_EQ(lane % 2 ? lds_at<u32>(lane * 8) : raw(kScattered + 3 * 256 + lane * 4, 4),
              old + v(40)[lane]);
  }
}

TEST_P(Atomics, MisalignedIsAViolation) {
  set_addresses(std::vector<u64>(kLanes, kData + 2));
  EXPECT_EQ(run("global_atomic_add v[2:3], v40, off"), Stop::fault);
  EXPECT_STREQ(wave.fault.reason, "misaligned atomic");
  EXPECT_EQ(wave.fault.va, kData + 2);
}

TEST_P(Atomics, FaultsWithoutTheRightToWrite) {
  memory.map(kScattered, kPageSize, host_page(0), 0);
  set_addresses(std::vector<u64>(kLanes, kScattered));
  EXPECT_EQ(run("global_atomic_add v[2:3], v40, off"), Stop::fault);
  EXPECT_TRUE(wave.fault.no_permission);
}

TEST_P(Atomics, AreAtomicTowardsTheHost) {
  // The host adds to the same counter meanwhile; nothing is lost.
  constexpr u32 kRounds = 2000;
  set_addresses(std::vector<u64>(kLanes, kData + 64));
  for (u32 lane = 0; lane < kLanes; ++lane) {
    v(40)[lane] = 1;
  }
  put(kData + 64, 0, 8);
  std::thread host([&] {
    auto* counter = reinterpret_cast<u32*>(data(kData + 64));
    for (u32 i = 0; i < kRounds * kLanes; ++i) {
      __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
    }
  });
  wave.s[0] = kRounds;
  // umax with a smaller value never changes the counter but goes the way of compare-and-swap.
  EXPECT_EQ(run(R"(
      again:
      global_atomic_add v[2:3], v40, off
      global_atomic_umax v[2:3], v40, off
      s_sub_u32 s0, s0, 1
      s_cmp_lg_u32 s0, 0
      s_cbranch_scc1 again)",
                kRounds * 10),
            Stop::end);
  host.join();
  EXPECT_EQ(raw(kData + 64, 4), 2 * kRounds * kLanes);
}

TEST_P(Atomics, ScalarOnes) {
  for (const Operation& operation : integer_operations()) {
    for (int bytes : {4, 8}) {
      SCOPED_TRACE(operation.name);
      const bool two = std::string(operation.name) == "cmpswap";
      const int words = bytes / 4 * (two ? 2 : 1);
      const std::string data_registers =
          words == 1 ? "s40" : "s[40:" + std::to_string(40 + words - 1) + "]";
      const u64 va = kData + 128;
      set_s64(4, va - 16);
      const u64 old = value_at(va, bytes);
      const u64 a = cut(s64(40), bytes), b = bytes == 4 ? wave.s[41] : s64(42);
      ASSERT_EQ(run(std::string("s_atomic_") + operation.name + (bytes == 8 ? "_x2 " : " ") +
                    data_registers + ", s[4:5], 16 glc"),
                Stop::end);
      EXPECT_EQ(value_at(va, bytes), cut(operation.next(old, a, b, bytes * 8), bytes));
      EXPECT_EQ(cut(s64(40), bytes), old);
    }
  }
}

// ---- LDS ----

const std::vector<Operation>& lds_operations() {
  static const std::vector<Operation> operations = {
      {"add_u", [](u64 old, u64 a, u64, int) { return old + a; }},
      {"sub_u", [](u64 old, u64 a, u64, int) { return old - a; }},
      {"rsub_u", [](u64 old, u64 a, u64, int) { return a - old; }},
      {"inc_u", [](u64 old, u64 a, u64, int) { return old < a ? old + 1 : 0; }},
      {"dec_u", [](u64 old, u64 a, u64, int) { return old != 0 && old <= a ? old - 1 : a; }},
      {"min_i", [](u64 old, u64 a, u64, int n) { return sign(a, n) < sign(old, n) ? a : old; }},
      {"max_i", [](u64 old, u64 a, u64, int n) { return sign(a, n) > sign(old, n) ? a : old; }},
      {"min_u", [](u64 old, u64 a, u64, int) { return std::min(a, old); }},
      {"max_u", [](u64 old, u64 a, u64, int) { return std::max(a, old); }},
      {"and_b", [](u64 old, u64 a, u64, int) { return old & a; }},
      {"or_b", [](u64 old, u64 a, u64, int) { return old | a; }},
      {"xor_b", [](u64 old, u64 a, u64, int) { return old ^ a; }},
      {"mskor_b", [](u64 old, u64 a, u64 b, int) { return (old & ~a) | b; }},
      {"cmpst_b", [](u64 old, u64 a, u64 b, int) { return old == a ? b : old; }},
      {"cmpst_f",
       [](u64 old, u64 a, u64 b, int n) {
         return (n == 32 ? f32(old) == f32(a) : f64(old) == f64(a)) ? b : old;
       },
       true},
      {"min_f",
       [](u64 old, u64 a, u64, int n) {
         return n == 32 ? of_f32(std::fmin(f32(old), f32(a))) : of_f64(std::fmin(f64(old), f64(a)));
       },
       true},
      {"max_f",
       [](u64 old, u64 a, u64, int n) {
         return n == 32 ? of_f32(std::fmax(f32(old), f32(a))) : of_f64(std::fmax(f64(old), f64(a)));
       },
       true},
      {"add_f",
       [](u64 old, u64 a, u64, int n) {
         return n == 32 ? of_f32(f32(old) + f32(a)) : of_f64(f64(old) + f64(a));
       },
       true},
  };
  return operations;
}

class LdsAtomics : public Atomics {
 protected:
  u64 lds_value(u32 address, int bytes) {
    return bytes == 4 ? lds_at<u32>(address) : lds_at<u64>(address);
  }
  void put_lds(u32 address, u64 value, int bytes) {
    std::memcpy(wave.lds + address, &value, bytes);
  }

  static bool has_two(const std::string& name) {
    return name.starts_with("cmpst") || name.starts_with("mskor");
  }

  // v2: address, v[40:41]: first, v[50:51]: second operand.
  void prepare(const Operation& operation, int bytes) {
    for (u32 lane = 0; lane < kLanes; ++lane) {
      v(2)[lane] = (lane % 5 == 0 ? 5 : lane) * 16;
      if (operation.floating) {
        const double a = std::ldexp(static_cast<double>(static_cast<i32>(random32())), -16);
        const double b = std::ldexp(static_cast<double>(static_cast<i32>(random32())), -10);
        put_lds(v(2)[lane] + 32, bytes == 4 ? of_f32(static_cast<float>(a)) : of_f64(a), bytes);
        set_v64(40, lane, bytes == 4 ? of_f32(static_cast<float>(b)) : of_f64(b));
      }
      if (lane % 4 == 0) {  // comparisons succeed at times
        set_v64(40, lane, lds_value(v(2)[lane] + 32, bytes));
      }
    }
  }
};
EXEC_TEST_SUITE(LdsAtomics);

TEST_P(LdsAtomics, EveryOperationWithAndWithoutReturn) {
  for (const Operation& operation : lds_operations()) {
    for (int bytes : {4, 8}) {
      for (bool returns : {false, true}) {
        std::string name = operation.name;
        name.insert(name.find('_'), returns ? "_rtn" : "");
        const std::string second = has_two(name) ? ", " + registers(50, bytes / 4) : "";
        const std::string text = "ds_" + name + (bytes == 4 ? "32 " : "64 ") +
                                 (returns ? registers(60, bytes / 4) + ", " : "") + "v2, " +
                                 registers(40, bytes / 4) + second + " offset:32";
        SCOPED_TRACE(text);
        load(text);
        for (u64 exec : exec_masks()) {
          wave.set_exec(exec);
          prepare(operation, bytes);
          std::vector<u8> expected(wave.lds, wave.lds + kLdsSize);
          std::vector<u64> olds(kLanes);
          for (u32 lane = 0; lane < kLanes; ++lane) {
            if (active(lane)) {
              u64 old = 0;
              std::memcpy(&old, &expected[v(2)[lane] + 32], bytes);
              olds[lane] = old;
              const u64 next = operation.next(old, lane_value(40, lane, bytes),
                                              lane_value(50, lane, bytes), bytes * 8);
              std::memcpy(&expected[v(2)[lane] + 32], &next, bytes);
            }
          }
          wave.pc = kCode;
          ASSERT_EQ(resume(), Stop::end);
          ASSERT_TRUE(std::equal(expected.begin(), expected.end(), wave.lds));
          for (u32 lane = 0; returns && lane < kLanes; ++lane) {
            if (active(lane)) {
              ASSERT_EQ(lane_value(60, lane, bytes), olds[lane]);
            }
          }
        }
      }
    }
  }
}

TEST_P(LdsAtomics, ExchangesWrapsAndReturnsZeroBeyondTheEnd) {
  for (u32 lane = 0; lane < kLanes; ++lane) {
    v(2)[lane] = lane * 64;
  }
  const std::vector<u8> before(wave.lds, wave.lds + kLdsSize);
  const auto old = [&](u32 at) {
    u32 value;
    std::memcpy(&value, &before[at], 4);
    return value;
  };
  ASSERT_EQ(run(R"(
      ds_wrxchg_rtn_b32 v60, v2, v40
      ds_wrxchg2_rtn_b32 v[62:63], v2, v41, v42 offset0:1 offset1:2
      ds_wrxchg_rtn_b64 v[64:65], v2, v[44:45] offset:16
      ds_wrap_rtn_b32 v66, v2, v46, v47 offset:24)"),
            Stop::end);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    const u32 at = lane * 64;
    EXPECT_EQ(v(60)[lane], old(at));
    EXPECT_EQ(v(62)[lane], old(at + 4));
    EXPECT_EQ(v(63)[lane], old(at + 8));
    EXPECT_EQ(v(64)[lane], old(at + 16));
    EXPECT_EQ(v(65)[lane], old(at + 20));
    EXPECT_EQ(lds_at<u32>(at + 8), v(42)[lane]);
    EXPECT_EQ(lds_at<u64>(at + 16), v64(44, lane));
    const u32 wrapped =
        old(at + 24) >= v(46)[lane] ? old(at + 24) - v(46)[lane] : old(at + 24) + v(47)[lane];
    EXPECT_EQ(v(66)[lane], old(at + 24));
    EXPECT_EQ(lds_at<u32>(at + 24), wrapped);
  }
  wave.lds_size = 512;
  const u32 untouched = lds_at<u32>(9 * 64);
  ASSERT_EQ(run("ds_add_rtn_u32 v60, v2, v40"), Stop::end);
  EXPECT_EQ(v(60)[9], 0u);
  EXPECT_EQ(lds_at<u32>(9 * 64), untouched);
}

TEST_P(LdsAtomics, TakesTheOperandFromLds) {
  use(Arch::gfx906);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    v(2)[lane] = 1024 + lane * 16;
  }
  const std::vector<u8> before(wave.lds, wave.lds + kLdsSize);
  ASSERT_EQ(run("ds_add_src2_u32 v2 offset:1\nds_write_src2_b32 v2 offset:0x7fff"), Stop::end);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    u32 below;  // the second instruction overwrites the sum by the dword before
    std::memcpy(&below, &before[1024 + lane * 16 - 4], 4);
    EXPECT_EQ(lds_at<u32>(1024 + lane * 16), below);
  }
}

}  // namespace
}  // namespace vgpu::isa::test
