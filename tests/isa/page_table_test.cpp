// Translation of GPU addresses.
#include "memory/page_table.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <thread>
#include <vector>

namespace vgpu {
namespace {

constexpr u64 kVa = 0x7f0000000000;
constexpr u64 kTop = u64{1} << kVaBits;

// Host memory that is never touched: only its addresses count.
class Reserved {
 public:
  explicit Reserved(u64 size)
      : size_(size),
        base_(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Reserved() { munmap(base_, size_); }
  u8* at(u64 offset) const { return static_cast<u8*>(base_) + offset; }

 private:
  u64 size_;
  void* base_;
};

TEST(PageTable, NothingIsMappedAtFirst) {
  const PageTable table;
  EXPECT_EQ(table.translate(0), nullptr);
  EXPECT_EQ(table.translate(kVa), nullptr);
  EXPECT_EQ(table.translate(kTop - 1), nullptr);
}

TEST(PageTable, AddressesBeyondTheUserSpaceAreNotMapped) {
  const PageTable table;
  EXPECT_EQ(table.translate(kTop), nullptr);
  EXPECT_EQ(table.translate(~u64{0}), nullptr);
}

TEST(PageTable, TranslatesWithinTheMappingAndNotBesideIt) {
  const Reserved host(8 * kChunkSize);
  PageTable table;
  const u64 va = kVa + 3 * kPageSize, size = 3 * kChunkSize;  // starts and ends inside chunks
  table.map(va, size, host.at(kPageSize), 0);
  EXPECT_EQ(table.translate(va), host.at(kPageSize));
  EXPECT_EQ(table.translate(va + 12345), host.at(kPageSize + 12345));
  EXPECT_EQ(table.translate(va + size - 1), host.at(kPageSize + size - 1));
  EXPECT_EQ(table.translate(va - 1), nullptr);
  EXPECT_EQ(table.translate(va + size), nullptr);
}

TEST(PageTable, RightsAreChecked) {
  const Reserved host(3 * kPageSize);
  PageTable table;
  table.map(kVa, kPageSize, host.at(0), 0);
  table.map(kVa + kPageSize, kPageSize, host.at(0), page_write);
  table.map(kVa + 2 * kPageSize, kPageSize, host.at(0), page_exec);
  EXPECT_NE(table.translate(kVa), nullptr);
  EXPECT_EQ(table.translate(kVa, page_write), nullptr);
  EXPECT_NE(table.translate(kVa + kPageSize, page_write), nullptr);
  EXPECT_EQ(table.translate(kVa + kPageSize, page_exec), nullptr);
  EXPECT_NE(table.translate(kVa + 2 * kPageSize, page_exec), nullptr);
}

TEST(PageTable, AHoleInALargeMappingLeavesTheRest) {
  const Reserved host(4 * kChunkSize);
  PageTable table;
  table.map(kVa, 4 * kChunkSize, host.at(0), page_write);
  const u64 hole = kChunkSize + 5 * kPageSize;
  table.unmap(kVa + hole, kPageSize);
  EXPECT_EQ(table.translate(kVa + hole), nullptr);
  EXPECT_EQ(table.translate(kVa + hole - 1), host.at(hole - 1));
  EXPECT_EQ(table.translate(kVa + hole + kPageSize, page_write), host.at(hole + kPageSize));
  EXPECT_EQ(table.translate(kVa + 3 * kChunkSize), host.at(3 * kChunkSize));
}

TEST(PageTable, ALaterMappingReplacesAnEarlierOne) {
  const Reserved host(4 * kChunkSize);
  PageTable table;
  table.map(kVa, 2 * kChunkSize, host.at(0), 0);
  table.map(kVa + kPageSize, kPageSize, host.at(2 * kChunkSize), page_write);
  EXPECT_EQ(table.translate(kVa + kPageSize, page_write), host.at(2 * kChunkSize));
  EXPECT_EQ(table.translate(kVa + 2 * kPageSize), host.at(2 * kPageSize));
  table.map(kVa, 2 * kChunkSize, host.at(kChunkSize), 0);  // over a chunk that was split
  EXPECT_EQ(table.translate(kVa + kPageSize), host.at(kChunkSize + kPageSize));
  EXPECT_EQ(table.translate(kVa + kPageSize, page_write), nullptr);
}

TEST(PageTable, AChunkMayBeUnmappedAndMappedAgain) {
  const Reserved host(2 * kChunkSize);
  PageTable table;
  table.map(kVa, kChunkSize, host.at(0), 0);
  table.unmap(kVa, kChunkSize);
  EXPECT_EQ(table.translate(kVa), nullptr);
  table.map(kVa, kChunkSize, host.at(kChunkSize), 0);
  EXPECT_EQ(table.translate(kVa), host.at(kChunkSize));
}

TEST(PageTable, CopiesCrossMappingsThatAreNotNeighboursOnTheHost) {
  const Reserved host(4 * kPageSize);
  PageTable table;
  table.map(kVa, kPageSize, host.at(2 * kPageSize), page_write);
  table.map(kVa + kPageSize, kPageSize, host.at(0), page_write);
  const u64 value = 0x1122334455667788;
  ASSERT_TRUE(table.write(kVa + kPageSize - 3, &value, sizeof(value)));
  EXPECT_EQ(*host.at(3 * kPageSize - 3), 0x88);
  EXPECT_EQ(*host.at(4), 0x11);
  u64 back = 0;
  ASSERT_TRUE(table.read(kVa + kPageSize - 3, &back, sizeof(back)));
  EXPECT_EQ(back, value);
}

TEST(PageTable, CopiesFailAtTheEndOfAMappingAndWithoutTheRight) {
  const Reserved host(kPageSize);
  PageTable table;
  table.map(kVa, kPageSize, host.at(0), 0);
  u64 value = 0;
  EXPECT_FALSE(table.read(kVa + kPageSize - 4, &value, sizeof(value)));
  EXPECT_FALSE(table.write(kVa, &value, sizeof(value)));
}

// A reader sees the old translation, the new one or none, never a mixture.
TEST(PageTable, ReadersNeedNoLock) {
  const Reserved host(4 * kChunkSize);
  PageTable table;
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&] {
      while (!done) {
        const u64 offset = 7 * kPageSize + 123;
        const u8* found = table.translate(kVa + offset);
        ASSERT_TRUE(found == nullptr || found == host.at(offset) ||
                    found == host.at(2 * kChunkSize + offset));
      }
    });
  }
  for (int i = 0; i < 2000; ++i) {
    table.map(kVa, 2 * kChunkSize, host.at(0), 0);
    table.map(kVa + 4 * kPageSize, 8 * kPageSize, host.at(2 * kChunkSize + 4 * kPageSize), 0);
    table.unmap(kVa, 2 * kChunkSize);
  }
  done = true;
  for (std::thread& reader : readers) {
    reader.join();
  }
}

}  // namespace
}  // namespace vgpu
