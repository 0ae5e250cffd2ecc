// Slots kept free for online work: how many, and on a driver that can.
#include <cerrno>

#include "mechanism/reservation.h"
#include "mechanism_support.h"

namespace gp::mechanism {
namespace {

u32 slots(u32 of, u32 online, u32 offline) {
  const auto result = slots_to_reserve(of, {online, offline});
  EXPECT_TRUE(succeeds(result));
  return result ? *result : ~0u;
}

TEST(SlotShares, TheLargerDemandCountsRoundedUp) {
  EXPECT_EQ(slots(24, 10, 80), 5u);  // 2.4 and 4.8
  EXPECT_EQ(slots(24, 25, 75), 6u);
  EXPECT_EQ(slots(24, 0, 100), 0u);
  EXPECT_EQ(slots(24, 1, 99), 1u);
  EXPECT_EQ(slots(32, 50, 10), 29u);
}

TEST(SlotShares, OfflineWorkAlwaysKeepsOneSlot) {
  EXPECT_EQ(slots(24, 100, 0), 23u);
  EXPECT_EQ(slots(1, 100, 0), 0u);
  EXPECT_EQ(slots(0, 100, 0), 0u);
}

// Every share of every size: never all slots, never less than either demand while one is left, and
// never more than the larger demand needs.
TEST(SlotShares, KeepTheirPromisesForEveryGpu) {
  for (u32 of = 1; of <= 128; ++of) {
    for (u32 online = 0; online <= 100; ++online) {
      for (u32 offline = 0; offline <= 100 - online; ++offline) {
        const u32 reserved = slots(of, online, offline);
        ASSERT_LT(reserved, of);
        if (reserved < of - 1) {
          ASSERT_GE(reserved * 100, of * online);
          ASSERT_LE((of - reserved) * 100, of * offline);
        }
        if (reserved > 0) {
          const u32 less = reserved - 1;
          ASSERT_TRUE(less * 100 < of * online || (of - less) * 100 > of * offline);
        }
      }
    }
  }
}

TEST(SlotShares, RefuseMoreThanAll) {
  EXPECT_TRUE(is_error(slots_to_reserve(24, {60, 60}), EINVAL, "more than 100"));
  EXPECT_TRUE(is_error(slots_to_reserve(24, {~0u, 2}), EINVAL));
}

TEST(KernelReservation, LastsAsLongAsItsOwner) {
  auto opened = SlotReservations::open();
  ASSERT_TRUE(succeeds(opened));
  auto other = SlotReservations::open();
  ASSERT_TRUE(succeeds(other));
  const u32 gpu = first_gpu_id();
  const auto reserved = (*opened)->reserve(gpu, SlotShares{10, 80});
  ASSERT_TRUE(succeeds(reserved));
  const auto state = (*other)->state(gpu);
  ASSERT_TRUE(succeeds(state));
  EXPECT_EQ(state->reserved, *reserved);
  EXPECT_EQ(*reserved, *slots_to_reserve(state->num_slots, {10, 80}));
  EXPECT_TRUE(is_error((*other)->reserve(gpu, 1), EBUSY, "another program"));
  opened->reset();
  EXPECT_EQ((*other)->state(gpu)->reserved, 0u);
  EXPECT_TRUE(succeeds((*other)->reserve(gpu, 1)));
}

TEST(KernelReservation, LeavesOneSlotAtLeast) {
  const auto opened = SlotReservations::open();
  ASSERT_TRUE(succeeds(opened));
  const u32 gpu = first_gpu_id();
  const u32 all = (*opened)->state(gpu)->num_slots;
  EXPECT_TRUE(is_error((*opened)->reserve(gpu, all), EINVAL, "at least one"));
  EXPECT_TRUE(succeeds((*opened)->reserve(gpu, all - 1)));
  EXPECT_TRUE(is_error((*opened)->state(gpu + 1), ENODEV));
}

TEST(OldDriver, CannotReserveSlots) {
  EXPECT_TRUE(is_error(SlotReservations::open(), EOPNOTSUPP, "no preemption calls"));
}

}  // namespace
}  // namespace gp::mechanism
