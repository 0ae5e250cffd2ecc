// Code pages: what a wave runs from, and when it sees new code.
#include "isa/code_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "isa/tables.h"

namespace vgpu::isa::test {
namespace {

constexpr u64 kVa = 0x200000000;
constexpr u32 kNop = 0xbf800000, kEndpgm = 0xbf810000, kBarrier = 0xbf8a0000;
constexpr u32 kFmaLow = 0xd1cb0004, kFmaHigh = 0x042a1106;  // v_fma_f32 v4, v6, v8, v10
constexpr u32 kUnknown = 0xffffffff;

void do_nothing(Wave&, const Inst&) {}

// An engine that implements everything but s_barrier.
Handler handler(const Inst& inst) { return inst.op->op == Op::s_barrier ? nullptr : do_nothing; }
constexpr Engine kEngine = {"test", nullptr, handler};

class CodeCacheTest : public testing::Test {
 protected:
  CodeCacheTest() {
    memory.map(kVa, sizeof(code), code, page_exec);
    std::fill(std::begin(code), std::end(code), kNop);
    wave.code = &cache;
    wave.memory = &memory;
  }

  // Runs one instruction, as Engine::run does.
  void step() {
    const Inst* inst = wave.ip;
    wave.ip += inst->len;
    inst->exec(wave, *inst);
  }

  static constexpr u64 kPages = 4;
  alignas(kPageSize) u32 code[kPages * kPageSize / 4];
  PageTable memory;
  CodeCache cache{Arch::gfx90a, kEngine, memory};
  Wave wave;
};

TEST_F(CodeCacheTest, JumpFindsTheInstructionAndPcOfFindsItBack) {
  code[5] = kEndpgm;
  wave.jump(kVa + 20);
  EXPECT_EQ(wave.ip->op->op, Op::s_endpgm);
  EXPECT_EQ(wave.pc_of(*wave.ip), kVa + 20);
  EXPECT_EQ(wave.stop, Stop::none);
}

TEST_F(CodeCacheTest, RunningOffAPageGoesOnInTheNext) {
  wave.jump(kVa + kPageSize - 4);
  step();  // the last instruction of the page
  EXPECT_EQ(wave.pc_of(*wave.ip), kVa + kPageSize);
  step();  // what stands behind it
  EXPECT_EQ(wave.page->va, kVa + kPageSize);
  EXPECT_EQ(wave.pc_of(*wave.ip), kVa + kPageSize);
}

TEST_F(CodeCacheTest, AnInstructionMayLieAcrossPages) {
  code[1023] = kFmaLow;
  code[1024] = kFmaHigh;
  wave.jump(kVa + kPageSize - 4);
  EXPECT_EQ(wave.ip->op->op, Op::v_fma_f32);
  step();
  step();
  EXPECT_EQ(wave.pc_of(*wave.ip), kVa + kPageSize + 4);
}

TEST_F(CodeCacheTest, AnInstructionThatReachesIntoUnmappedMemoryFaults) {
  code[kPages * 1024 - 1] = kFmaLow;
  const u64 last = kVa + sizeof(code) - 4;
  wave.jump(last);
  step();
  EXPECT_EQ(wave.stop, Stop::fault);
  EXPECT_EQ(wave.fault.va, kVa + sizeof(code));
  EXPECT_EQ(wave.fault.pc, last);
}

TEST_F(CodeCacheTest, JumpToUnmappedMemoryFaults) {
  wave.jump(kVa + sizeof(code));
  EXPECT_EQ(wave.stop, Stop::fault);
  EXPECT_EQ(wave.fault.va, kVa + sizeof(code));
  EXPECT_FALSE(wave.fault.no_permission);
}

TEST_F(CodeCacheTest, JumpToDataFaultsForLackOfPermission) {
  memory.map(kVa, sizeof(code), code, page_write);
  wave.jump(kVa);
  EXPECT_EQ(wave.stop, Stop::fault);
  EXPECT_TRUE(wave.fault.no_permission);
}

TEST_F(CodeCacheTest, WhatTheEngineLacksStopsWithItsName) {
  code[3] = kBarrier;
  wave.jump(kVa + 12);
  step();
  EXPECT_EQ(wave.stop, Stop::illegal);
  EXPECT_EQ(wave.fault.pc, kVa + 12);
  EXPECT_STREQ(wave.fault.reason, "s_barrier");
}

TEST_F(CodeCacheTest, WhatIsNoInstructionStopsWithItsEncoding) {
  code[3] = kUnknown;
  wave.jump(kVa + 12);
  step();
  EXPECT_EQ(wave.stop, Stop::illegal);
  EXPECT_EQ(wave.fault.pc, kVa + 12);
  EXPECT_STREQ(wave.fault.reason, "unknown encoding 0xffffffff");
}

TEST_F(CodeCacheTest, EverySlotHasAnOpAndAHandler) {
  code[1022] = kFmaLow;
  code[1023] = kUnknown;
  for (const Inst& inst : cache.page(kVa)->slots) {
    ASSERT_NE(inst.op, nullptr);
    ASSERT_NE(inst.exec, nullptr);
  }
}

TEST_F(CodeCacheTest, NewCodeIsSeenOnlyAfterInvalidate) {
  wave.jump(kVa);
  EXPECT_EQ(wave.ip->op->op, Op::s_nop);
  code[0] = kEndpgm;
  wave.jump(kVa);
  EXPECT_EQ(wave.ip->op->op, Op::s_nop) << "hardware keeps stale instructions too";
  const Inst* old = wave.ip;
  cache.invalidate();
  EXPECT_EQ(old->op->op, Op::s_nop) << "a running wave still stands on the old page";
  wave.jump(kVa);
  EXPECT_EQ(wave.ip->op->op, Op::s_endpgm);
  cache.collect();
  EXPECT_EQ(wave.ip->op->op, Op::s_endpgm) << "only retired pages are freed";
}

TEST_F(CodeCacheTest, UnmappedCodeIsGoneAfterInvalidate) {
  EXPECT_NE(cache.page(kVa), nullptr);
  memory.unmap(kVa, kPageSize);
  cache.invalidate();
  EXPECT_EQ(cache.page(kVa), nullptr);
}

TEST_F(CodeCacheTest, ThreadsMayRunWhileCodeIsInvalidated) {
  constexpr int kRounds = 2000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([this] {
      Wave mine;
      mine.code = &cache;
      mine.memory = &memory;
      for (int i = 0; i < kRounds; ++i) {
        mine.jump(kVa + static_cast<u64>(i) % kPages * kPageSize);
        ASSERT_EQ(mine.ip->op->op, Op::s_nop);
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    cache.invalidate();
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  cache.collect();
}

TEST(EngineSelect, AnEngineIsKnownByItsName) {
  EXPECT_EQ(engine_named("v5"), nullptr);
  for (const char* name : {"v3", "v4"}) {
    if (const Engine* engine = engine_named(name)) {
      EXPECT_STREQ(engine->name, name);
    }
  }
  if (const Engine* best = host_engine()) {
    EXPECT_EQ(best, engine_named(best->name));
  }
}

}  // namespace
}  // namespace vgpu::isa::test
