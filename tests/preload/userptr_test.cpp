// Memory the program registers moves into shared memory and back, and the program does not notice.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdlib>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "preload/preload_support.h"

namespace vgpu::preload {
namespace {

constexpr u64 kPage = 4096;

class Userptr : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(gpu.id, 0u); }
  u64 register_memory(void* address, u64 size) {
    return gpu.allocate(gp::abi::alloc_userptr, size, address);
  }
  Gpu gpu;
};

bool is_moved(const void* address) {
  return mapping_of(address).find("vgpu-user-memory") != std::string::npos;
}

// Anonymous memory that is gone at the end of the test.
struct Pages {
  explicit Pages(u64 count, int protection = PROT_READ | PROT_WRITE)
      : bytes(count * kPage),
        data(static_cast<unsigned char*>(
            ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~Pages() { ::munmap(data, bytes); }
  void fill() { std::iota(data, data + bytes, static_cast<unsigned char>(1)); }
  bool is_filled() const {
    for (u64 i = 0; i < bytes; ++i) {
      if (data[i] != static_cast<unsigned char>(i + 1))
        return false;
    }
    return true;
  }
  const u64 bytes;
  unsigned char* const data;
};

TEST_F(Userptr, DataSurvivesTheMoveThereAndBack) {
  Pages pages(64);
  pages.fill();
  const u64 handle = register_memory(pages.data, pages.bytes);
  ASSERT_NE(handle, 0u);
  EXPECT_TRUE(is_moved(pages.data));
  EXPECT_TRUE(pages.is_filled());
  pages.data[5 * kPage] ^= 0xff;
  ASSERT_TRUE(gpu.free(handle));
  EXPECT_FALSE(is_moved(pages.data));
  pages.data[5 * kPage] ^= 0xff;
  EXPECT_TRUE(pages.is_filled());
}

TEST_F(Userptr, UntouchedPagesAreZeroes) {
  Pages pages(16);
  const u64 handle = register_memory(pages.data, pages.bytes);
  ASSERT_NE(handle, 0u);
  EXPECT_EQ(pages.data[3 * kPage], 0);
  ASSERT_TRUE(gpu.free(handle));
  EXPECT_EQ(std::accumulate(pages.data, pages.data + pages.bytes, 0u), 0u);
}

TEST_F(Userptr, OverlappingRegistrationsShareTheirPages) {
  Pages pages(8);
  pages.fill();
  const u64 first = register_memory(pages.data, 5 * kPage);
  const u64 second = register_memory(pages.data + 3 * kPage, 5 * kPage);
  const u64 same = register_memory(pages.data, 5 * kPage);
  ASSERT_NE(first, 0u);
  ASSERT_NE(second, 0u);
  ASSERT_NE(same, 0u);
  ASSERT_TRUE(gpu.free(first));
  EXPECT_TRUE(is_moved(pages.data)) << "still registered by another";
  ASSERT_TRUE(gpu.free(same));
  EXPECT_FALSE(is_moved(pages.data));
  EXPECT_FALSE(is_moved(pages.data + 2 * kPage));
  EXPECT_TRUE(is_moved(pages.data + 3 * kPage));
  EXPECT_TRUE(pages.is_filled());
  ASSERT_TRUE(gpu.free(second));
  EXPECT_FALSE(is_moved(pages.data + 4 * kPage));
  EXPECT_TRUE(pages.is_filled());
}

TEST_F(Userptr, HeapPagesKeepTheirNeighbours) {
  std::vector<std::vector<int>> neighbours;
  for (int i = 0; i < 500; ++i) {
    neighbours.emplace_back(100, i);
  }
  auto* middle = neighbours[250].data();
  void* page = reinterpret_cast<void*>(reinterpret_cast<u64>(middle) & ~(kPage - 1));
  const u64 handle = register_memory(page, 2 * kPage);
  ASSERT_NE(handle, 0u);
  neighbours.emplace_back(100, 500);
  ASSERT_TRUE(gpu.free(handle));
  for (int i = 0; i <= 500; ++i) {
    EXPECT_EQ(neighbours[static_cast<std::size_t>(i)], std::vector<int>(100, i));
  }
}

int global_data[3 * kPage / sizeof(int)] = {1, 2, 3};

TEST_F(Userptr, ProgramDataCanBeRegistered) {
  void* page =
      reinterpret_cast<void*>((reinterpret_cast<u64>(global_data) + kPage - 1) & ~(kPage - 1));
  const u64 handle = register_memory(page, kPage);
  ASSERT_NE(handle, 0u);
  global_data[kPage / sizeof(int)] = 77;
  ASSERT_TRUE(gpu.free(handle));
  EXPECT_EQ(global_data[kPage / sizeof(int)], 77);
  EXPECT_EQ(global_data[0], 1);
}

// The pages of the running thread's own stack, frames and all.
TEST_F(Userptr, TheCallersOwnStackCanBeRegistered) {
  volatile unsigned char buffer[8 * kPage];
  for (u64 i = 0; i < sizeof buffer; ++i) {
    buffer[i] = static_cast<unsigned char>(i * 7);
  }
  const u64 low = (reinterpret_cast<u64>(&buffer) & ~(kPage - 1)) - 4 * kPage;
  const u64 handle = register_memory(reinterpret_cast<void*>(low), 12 * kPage);
  ASSERT_NE(handle, 0u) << errno;
  for (u64 i = 0; i < sizeof buffer; ++i) {
    ASSERT_EQ(buffer[i], static_cast<unsigned char>(i * 7));
  }
  ASSERT_TRUE(gpu.free(handle));
  for (u64 i = 0; i < sizeof buffer; ++i) {
    ASSERT_EQ(buffer[i], static_cast<unsigned char>(i * 7));
  }
}

TEST_F(Userptr, AThreadsStackAndThreadLocalsCanBeRegistered) {
  std::thread([&] {
    static thread_local int local = 5;
    const u64 page = reinterpret_cast<u64>(&local) & ~(kPage - 1);
    const u64 handle = register_memory(reinterpret_cast<void*>(page), kPage);
    ASSERT_NE(handle, 0u) << errno;
    local = 6;
    errno = 0;
    ASSERT_TRUE(gpu.free(handle));
    EXPECT_EQ(local, 6);
  }).join();
}

// A writer that never pauses while the pages move there and back: it must find every value it
// wrote.
TEST_F(Userptr, NoWriteOfAnotherThreadIsLost) {
  constexpr u64 kCount = 64;
  Pages pages(kCount);
  std::atomic<bool> stop{false};
  std::atomic<u64> lost{0}, rounds{0};
  std::thread writer([&] {
    for (u64 round = 1; !stop; ++round) {
      for (u64 i = 0; i < kCount; ++i) {
        auto* word = reinterpret_cast<volatile u64*>(pages.data + i * kPage + 8 * (round % 512));
        *word = round;
        lost += *word != round;
      }
      const u64 before = round - 1;
      for (u64 i = 0; i < kCount && before > 0; ++i) {
        lost +=
            *reinterpret_cast<volatile u64*>(pages.data + i * kPage + 8 * (before % 512)) != before;
      }
      rounds = round;
    }
  });
  for (int i = 0; i < 100; ++i) {
    const u64 handle = register_memory(pages.data, pages.bytes);
    ASSERT_NE(handle, 0u);
    const u64 seen = rounds;
    while (rounds < seen + 2) {
      std::this_thread::yield();
    }
    ASSERT_TRUE(gpu.free(handle));
  }
  stop = true;
  writer.join();
  EXPECT_EQ(lost, 0u);
}

TEST_F(Userptr, WhatTheKernelRefusesIsRefused) {
  Pages read_only(2, PROT_READ);
  EXPECT_EQ(register_memory(read_only.data, kPage), 0u);
  EXPECT_EQ(errno, EPERM);
  Pages none(2, PROT_NONE);
  EXPECT_EQ(register_memory(none.data, kPage), 0u);
  EXPECT_EQ(errno, EFAULT);
  Pages hole(4);
  ::munmap(hole.data + 2 * kPage, kPage);
  hole.data[0] = 9;
  EXPECT_EQ(register_memory(hole.data, 4 * kPage), 0u);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_FALSE(is_moved(hole.data)) << "nothing has moved";
  EXPECT_EQ(hole.data[0], 9);
  EXPECT_EQ(register_memory(hole.data + 1, kPage), 0u);
  EXPECT_EQ(errno, EINVAL);
  void* shared = ::mmap(gpu.kfd.get() < 0 ? nullptr : nullptr, kPage, PROT_READ | PROT_WRITE,
                        MAP_SHARED, gpu.render.get(), 0);
  EXPECT_EQ(register_memory(shared, kPage), 0u) << "GPU memory is not user memory";
  EXPECT_EQ(errno, EFAULT);
  ::munmap(shared, kPage);
}

TEST_F(Userptr, MemoryThatWasUnmappedMeanwhileIsNotBroughtBack) {
  auto* pages = static_cast<unsigned char*>(
      ::mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const u64 handle = register_memory(pages, 4 * kPage);
  ASSERT_NE(handle, 0u);
  // The program gives the middle away and something else is mapped there.
  ASSERT_EQ(::mmap(pages + kPage, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
            pages + kPage);
  ASSERT_EQ(::munmap(pages + 2 * kPage, kPage), 0);
  ASSERT_TRUE(gpu.free(handle));
  EXPECT_NE(mapping_of(pages + kPage).find(" r--p "), std::string::npos);
  EXPECT_EQ(mapping_of(pages + 2 * kPage), "");
  EXPECT_NE(mapping_of(pages + 3 * kPage).find(" rw-p "), std::string::npos);
  ::munmap(pages, 4 * kPage);
}

TEST_F(Userptr, AForkedChildGetsACopy) {
  static unsigned char* data;
  Pages pages(4);
  pages.fill();
  data = pages.data;
  const u64 handle = register_memory(pages.data, pages.bytes);
  ASSERT_NE(handle, 0u);
  EXPECT_EQ(in_child([] {
              const bool intact =
                  data[0] == 1 && data[kPage] == static_cast<unsigned char>(kPage + 1);
              std::memset(data, 0xee, 4 * kPage);
              return intact && !is_moved(data) ? 0 : 1;
            }),
            0);
  EXPECT_TRUE(pages.is_filled()) << "the child wrote into its own copy";
  EXPECT_TRUE(is_moved(pages.data));
  ASSERT_TRUE(gpu.free(handle));
  EXPECT_TRUE(pages.is_filled());
}

TEST_F(Userptr, HundredsOfRegistrationsInAnyOrder) {
  Pages pages(512);
  pages.fill();
  std::mt19937 random(1);
  std::vector<u64> handles;
  for (int i = 0; i < 400; ++i) {
    const u64 start = random() % 500, count = 1 + random() % 12;
    handles.push_back(register_memory(pages.data + start * kPage, count * kPage));
    ASSERT_NE(handles.back(), 0u);
    if (i % 3 == 0) {
      std::swap(handles[random() % handles.size()], handles.back());
      ASSERT_TRUE(gpu.free(handles.back()));
      handles.pop_back();
    }
  }
  EXPECT_TRUE(pages.is_filled());
  for (const u64 handle : handles) {
    ASSERT_TRUE(gpu.free(handle));
  }
  EXPECT_TRUE(pages.is_filled());
  for (u64 page = 0; page < 512; ++page) {
    ASSERT_FALSE(is_moved(pages.data + page * kPage));
  }
}

}  // namespace
}  // namespace vgpu::preload
