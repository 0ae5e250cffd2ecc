// Which stores ring doorbells, and for which part of the process.
#include "agent/doorbells.h"

#include <gtest/gtest.h>

#include <memory>

namespace gp::agent {
namespace {

constexpr u64 kFirst = 0x7f0000001000, kSecond = kFirst + 64;

TEST(Doorbells, BelongToTheRestUntilSomebodySaysOtherwise) {
  const auto doorbells = std::make_unique<Doorbells>();
  ASSERT_TRUE(doorbells->insert(kFirst));
  EXPECT_EQ(doorbells->part_of(kFirst), Part::rest);
  doorbells->set_part(kFirst, Part::online);
  EXPECT_EQ(doorbells->part_of(kFirst), Part::online);
  EXPECT_FALSE(doorbells->part_of(kSecond));
}

TEST(Doorbells, AreForgottenWithTheirPart) {
  const auto doorbells = std::make_unique<Doorbells>();
  ASSERT_TRUE(doorbells->insert(kFirst));
  doorbells->set_part(kFirst, Part::offline);
  doorbells->erase(kFirst);
  EXPECT_FALSE(doorbells->part_of(kFirst));
  ASSERT_TRUE(doorbells->insert(kFirst));
  EXPECT_EQ(doorbells->part_of(kFirst), Part::rest);
}

TEST(Doorbells, AreNoOddAddresses) {
  const auto doorbells = std::make_unique<Doorbells>();
  for (const u64 handle : {u64{0}, u64{1}, u64{3}, kFirst + 1}) {
    EXPECT_FALSE(doorbells->insert(handle)) << handle;
  }
  EXPECT_FALSE(doorbells->part_of(kFirst));
}

// A program that makes and destroys queues for ever fills nothing.
TEST(Doorbells, HaveRoomForEver) {
  const auto doorbells = std::make_unique<Doorbells>();
  for (u64 i = 1; i < 100'000; i++) {
    ASSERT_TRUE(doorbells->insert(i * 64)) << i;
    doorbells->set_part(i * 64, Part::online);
    ASSERT_EQ(doorbells->part_of(i * 64), Part::online);
    if (i > 100) {
      doorbells->erase((i - 100) * 64);
    }
  }
}

}  // namespace
}  // namespace gp::agent
