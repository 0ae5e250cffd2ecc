// The agent's functions in tables of every layout, and in tables of none. The tables are synthetic;
// each ends where an inaccessible page begins, so that a byte beyond it is a crash.
#include "agent/api_tables.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <type_traits>
#include <vector>

#include "agent/hooks.h"

namespace gp::agent {
namespace {

constexpr u32 kCoreBytes = 1016;

struct Release {
  const char* name;
  u32 root_major, core_major, amd_major, amd_bytes;
  Layout layout;
};
constexpr Release kReleases[] = {
    {"5.2", 1, 1, 1, 400, Layout::before_5_6},   {"5.5", 1, 1, 1, 424, Layout::before_5_6},
    {"5.7", 1, 1, 1, 456, Layout::since_5_6},    {"6.0", 2, 2, 2, 552, Layout::since_5_6},
    {"6.1", 3, 2, 2, 560, Layout::since_5_6},    {"6.2", 3, 2, 2, 576, Layout::since_5_6},
    {"6.3", 3, 2, 2, 584, Layout::since_5_6},    {"6.4", 3, 2, 2, 592, Layout::since_5_6},
    {"7.0", 3, 2, 2, 608, Layout::since_5_6},    {"7.2", 3, 2, 2, 624, Layout::since_5_6},
    {"later", 3, 2, 2, 4000, Layout::since_5_6},
};

// Pages before one that cannot be touched.
class Fence {
 public:
  Fence() {
    memory_ = static_cast<char*>(::mmap(nullptr, kBytes + kPage, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(memory_ + kBytes, kPage, PROT_NONE);
  }
  ~Fence() { ::munmap(memory_, kBytes + kPage); }
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;

  // A table of so many bytes, of which as many exist as it says, but for its version.
  TableVersion* table(u32 major, u32 bytes) {
    size_ = std::max<u32>(bytes, sizeof(TableVersion));
    begin_ = memory_ + kBytes - size_;
    for (u32 at = 0; at + sizeof(u64) <= size_; at += sizeof(u64)) {
      const u64 function = reinterpret_cast<u64>(memory_) + at;  // unique, and never called
      std::memcpy(begin_ + at, &function, sizeof function);
    }
    const TableVersion version{major, bytes, 0, 0};
    std::memcpy(begin_, &version, sizeof version);
    return reinterpret_cast<TableVersion*>(begin_);
  }
  std::vector<char> bytes() const { return {begin_, begin_ + size_}; }

 private:
  static constexpr u32 kPage = 4096, kBytes = 2 * kPage;
  char* memory_ = nullptr;
  char* begin_ = nullptr;
  u32 size_ = 0;
};

class Tables : public testing::Test {
 protected:
  bool install(const Release& release, u32 core_bytes = kCoreBytes, u32 root_bytes = 64) {
    root_ = {{release.root_major, root_bytes, 0, 0},
             core_.table(release.core_major, core_bytes),
             amd_.table(release.amd_major, release.amd_bytes)};
    core_before_ = core_.bytes();
    amd_before_ = amd_.bytes();
    refusal_ = {};
    return install_hooks(&root_, refusal_);
  }
  bool untouched() const { return core_.bytes() == core_before_ && amd_.bytes() == amd_before_; }
  static std::set<u32> changed(const std::vector<char>& before, const std::vector<char>& after) {
    std::set<u32> offsets;
    for (u32 at = 0; at < before.size(); ++at) {
      if (before[at] != after[at]) {
        offsets.insert(at / 8 * 8);
      }
    }
    return offsets;
  }
  template <class Function>
  Function* was(const std::vector<char>& before, u32 offset) const {
    Function* function = nullptr;
    std::memcpy(&function, before.data() + offset, sizeof function);
    return function;
  }

  Fence core_, amd_;
  RootTable root_;
  Refusal refusal_;
  std::vector<char> core_before_, amd_before_;
};

// What the headers here say, in their layout, as an oracle for both: two functions stand behind
// hsa_amd_memory_async_copy in the later one.
u32 amd_offset(std::size_t in_header, Layout layout) {
  const Layout header = sizeof(AmdExtTable) <= 424 ? Layout::before_5_6 : Layout::since_5_6;
  const bool behind = in_header > offsetof(AmdExtTable, hsa_amd_memory_async_copy_fn);
  const int shift = !behind || header == layout ? 0 : layout == Layout::since_5_6 ? 16 : -16;
  return static_cast<u32>(static_cast<int>(in_header) + shift);
}

TEST_F(Tables, OfEveryReleaseAreKnownAndTheirFunctionsFound) {
  for (const Release& release : kReleases) {
    SCOPED_TRACE(release.name);
    ASSERT_TRUE(install(release)) << refusal_.text;
    const auto amd = [&](std::size_t in_header) { return amd_offset(in_header, release.layout); };
    const std::vector<char>&core = core_before_, &extension = amd_before_;
#define EXPECT_ORIGINAL(member, before, offset) \
  EXPECT_EQ(runtime.member, was<std::remove_pointer_t<decltype(runtime.member)>>(before, offset))
    EXPECT_ORIGINAL(system_get_info, core, offsetof(CoreApiTable, hsa_system_get_info_fn));
    EXPECT_ORIGINAL(agent_get_info, core, offsetof(CoreApiTable, hsa_agent_get_info_fn));
    EXPECT_ORIGINAL(queue_create, core, offsetof(CoreApiTable, hsa_queue_create_fn));
    EXPECT_ORIGINAL(queue_destroy, core, offsetof(CoreApiTable, hsa_queue_destroy_fn));
    EXPECT_ORIGINAL(queue_inactivate, core, offsetof(CoreApiTable, hsa_queue_inactivate_fn));
    EXPECT_ORIGINAL(load_read_index, core,
                    offsetof(CoreApiTable, hsa_queue_load_read_index_scacquire_fn));
    EXPECT_ORIGINAL(load_write_index, core,
                    offsetof(CoreApiTable, hsa_queue_load_write_index_scacquire_fn));
    EXPECT_ORIGINAL(cas_write_index, core,
                    offsetof(CoreApiTable, hsa_queue_cas_write_index_scacq_screl_fn));
    EXPECT_ORIGINAL(signal_create, core, offsetof(CoreApiTable, hsa_signal_create_fn));
    EXPECT_ORIGINAL(signal_destroy, core, offsetof(CoreApiTable, hsa_signal_destroy_fn));
    EXPECT_ORIGINAL(signal_load, core, offsetof(CoreApiTable, hsa_signal_load_scacquire_fn));
    EXPECT_ORIGINAL(store_relaxed, core, offsetof(CoreApiTable, hsa_signal_store_relaxed_fn));
    EXPECT_ORIGINAL(store_screlease, core, offsetof(CoreApiTable, hsa_signal_store_screlease_fn));
    EXPECT_ORIGINAL(silent_store_relaxed, core,
                    offsetof(CoreApiTable, hsa_signal_silent_store_relaxed_fn));
    EXPECT_ORIGINAL(silent_store_screlease, core,
                    offsetof(CoreApiTable, hsa_signal_silent_store_screlease_fn));
    EXPECT_ORIGINAL(signal_async_handler, extension,
                    amd(offsetof(AmdExtTable, hsa_amd_signal_async_handler_fn)));
    EXPECT_ORIGINAL(intercept_create, extension,
                    amd(offsetof(AmdExtTable, hsa_amd_queue_intercept_create_fn)));
    EXPECT_ORIGINAL(intercept_register, extension,
                    amd(offsetof(AmdExtTable, hsa_amd_queue_intercept_register_fn)));
    EXPECT_ORIGINAL(set_priority, extension,
                    amd(offsetof(AmdExtTable, hsa_amd_queue_set_priority_fn)));
#undef EXPECT_ORIGINAL
  }
}

TEST_F(Tables, AreChangedWhereTheAgentHasAHookAndNowhereElse) {
  for (const Release& release : kReleases) {
    SCOPED_TRACE(release.name);
    ASSERT_TRUE(install(release)) << refusal_.text;
    const std::set<u32> core = {offsetof(CoreApiTable, hsa_queue_create_fn),
                                offsetof(CoreApiTable, hsa_queue_destroy_fn),
                                offsetof(CoreApiTable, hsa_queue_inactivate_fn),
                                offsetof(CoreApiTable, hsa_signal_store_relaxed_fn),
                                offsetof(CoreApiTable, hsa_signal_store_screlease_fn),
                                offsetof(CoreApiTable, hsa_signal_silent_store_relaxed_fn),
                                offsetof(CoreApiTable, hsa_signal_silent_store_screlease_fn)};
    EXPECT_EQ(changed(core_before_, core_.bytes()), core);
    const std::set<u32> amd = {
        amd_offset(offsetof(AmdExtTable, hsa_amd_queue_set_priority_fn), release.layout)};
    EXPECT_EQ(changed(amd_before_, amd_.bytes()), amd);
  }
}

TEST_F(Tables, OfUnknownVersionsAreLeftUntouchedWithAReason) {
  constexpr Release kUnknown[] = {
      {"root of 0", 0, 1, 1, 400, {}},  {"root of 4", 4, 2, 2, 624, {}},
      {"core of 0", 1, 0, 1, 400, {}},  {"core of 3", 3, 3, 2, 624, {}},
      {"AMD of 0", 1, 1, 0, 400, {}},   {"AMD of 3", 3, 2, 3, 624, {}},
      {"before 4.5", 1, 1, 1, 392, {}}, {"after 5.5", 1, 1, 1, 432, {}},
      {"after 5.7", 1, 1, 1, 464, {}},  {"before 6.0", 2, 2, 2, 544, {}},
  };
  for (const Release& release : kUnknown) {
    SCOPED_TRACE(release.name);
    EXPECT_FALSE(install(release));
    EXPECT_TRUE(untouched());
    EXPECT_NE(std::strstr(refusal_.text, "not known"), nullptr) << refusal_.text;
  }
}

TEST_F(Tables, ThatAreMissingAreRefused) {
  install(kReleases[0]);
  for (const bool core : {true, false}) {
    RootTable root = root_;
    (core ? root.core : root.amd) = nullptr;
    EXPECT_FALSE(install_hooks(&root, refusal_));
    EXPECT_NE(std::strstr(refusal_.text, core ? "no core table" : "no AMD table"), nullptr);
  }
}

// The fence sees to the property; what is refused is also left as it was.
TEST_F(Tables, OfAnySizeAreNeverTouchedBeyondTheirEnd) {
  u32 known = 0;
  for (u32 root = 0; root <= 4; ++root) {
    for (u32 major = 0; major <= 3; ++major) {
      for (const u32 root_bytes : {0u, 16u, 24u, 31u, 32u, 56u, 64u}) {
        for (const u32 core_bytes : {0u, 16u, 24u, 72u, 840u, 848u, 1008u, 1016u, 1024u}) {
          for (u32 amd_bytes = 0; amd_bytes <= 640; amd_bytes += 8) {
            const Release release = {"", root, major, major, amd_bytes, {}};
            if (install(release, core_bytes, root_bytes)) {
              ++known;
            } else {
              ASSERT_TRUE(untouched()) << refusal_.text;
              ASSERT_NE(refusal_.text[0], '\0');
            }
          }
        }
      }
    }
  }
  EXPECT_GT(known, 0u);
}

}  // namespace
}  // namespace gp::agent
