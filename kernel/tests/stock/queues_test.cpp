// Refusals of the calls on queues and memory, as amdkfd of Linux 6.12.95 words them. Several differ
// from what the header's comments make one expect.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "kfd/calls.h"
#include "support.h"

namespace gp::stock {
namespace {

constexpr u32 kNoSuchQueue = 77;
constexpr u32 kNoSuchGpu = 0x1234;
constexpr int kNotSupported = 524;  // the kernel's ENOTSUPP, which user space has no name for

abi::UpdateQueueArgs update(u32 percentage, u32 priority, u32 ring_size) {
  abi::UpdateQueueArgs args{};
  args.queue_id = kNoSuchQueue;
  args.queue_percentage = percentage;
  args.queue_priority = priority;
  args.ring_size = ring_size;
  return args;
}

TEST(Queues, UpdateOfAQueueThatIsNotThereIsEfault) {
  const Kfd kfd;
  EXPECT_EQ(kfd::update_queue(kfd.channel(), update(0, 7, 0)), -EFAULT);
}

TEST(Queues, UpdateChecksItsArgumentsFirst) {
  const Kfd kfd;
  EXPECT_EQ(kfd::update_queue(kfd.channel(), update(abi::kMaxQueuePercentage + 1, 7, 4096)),
            -EINVAL);
  EXPECT_EQ(kfd::update_queue(kfd.channel(), update(100, abi::kMaxQueuePriority + 1, 4096)),
            -EINVAL);
  EXPECT_EQ(kfd::update_queue(kfd.channel(), update(100, 7, 4095)), -EINVAL);
}

TEST(Queues, DestroyOfAQueueThatIsNotThereIsEinval) {
  const Kfd kfd;
  abi::DestroyQueueArgs args{kNoSuchQueue, 0};
  EXPECT_EQ(kfd.call(abi::kfd_destroy_queue, args), -EINVAL);
}

TEST(Queues, CreateRefusesUnknownGpusPercentagesAndTypes) {
  const Kfd kfd;
  abi::CreateQueueArgs args{};
  args.gpu_id = kNoSuchGpu;
  args.queue_type = abi::queue_type_compute_aql;
  args.queue_percentage = 100;
  EXPECT_EQ(kfd.call(abi::kfd_create_queue, args), -EINVAL);
  args.queue_percentage = abi::kMaxQueuePercentage + 1;
  EXPECT_EQ(kfd.call(abi::kfd_create_queue, args), -EINVAL);
}

TEST(Queues, AnUnknownTypeGetsAnErrnoWithoutAName) {
  const Kfd kfd;
  u64 index = 0;
  abi::CreateQueueArgs args{};
  args.read_pointer_address = args.write_pointer_address = reinterpret_cast<u64>(&index);
  args.queue_type = 99;
  args.queue_percentage = 100;
  EXPECT_EQ(kfd.call(abi::kfd_create_queue, args), -kNotSupported);
}

TEST(Queues, MaskAndWaveStateOfAQueueThatIsNotThereAreEfault) {
  const Kfd kfd;
  u32 mask = 0xffffffff;
  abi::SetCuMaskArgs cus{kNoSuchQueue, 32, reinterpret_cast<u64>(&mask)};
  EXPECT_EQ(kfd.call(abi::kfd_set_cu_mask, cus), -EFAULT);
  abi::GetQueueWaveStateArgs waves{};
  waves.queue_id = kNoSuchQueue;
  EXPECT_EQ(kfd.call(abi::kfd_get_queue_wave_state, waves), -EFAULT);
}

TEST(Queues, AVmOfAnUnknownGpuIsEinval) {
  const Kfd kfd;
  abi::AcquireVmArgs args{0, kNoSuchGpu};
  EXPECT_EQ(kfd.call(abi::kfd_acquire_vm, args), -EINVAL);
}

// Debian's kernel has no DEVICE_PRIVATE, hence no shared virtual memory.
TEST(Queues, RetryFaultsCannotBeAskedFor) {
  const Kfd kfd;
  abi::SetXnackModeArgs args{-1};
  EXPECT_EQ(kfd.call(abi::kfd_set_xnack_mode, args), -EPERM);
}

// With the right it fails for want of a GPU, without it for want of the right.
TEST(Queues, PausingNeedsTheRightAndAGpu) {
  in_own_process([] {
    const Kfd kfd;
    EXPECT_EQ(kfd::criu_pause(kfd.channel()), geteuid() == 0 ? -ENODEV : -EACCES);
  });
}

}  // namespace
}  // namespace gp::stock
