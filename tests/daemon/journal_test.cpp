#include "daemon/journal.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/temporary_directory.h"

namespace gp::daemon {
namespace {

class JournalTest : public testing::Test {
 protected:
  std::string path() const { return directory_ + "/journal"; }
  JournalContent reopen() {
    JournalContent left;
    journal = nullptr;
    auto opened = Journal::open(path(), left);
    EXPECT_TRUE(opened) << opened.error().message();
    journal = std::move(*opened);
    return left;
  }
  void damage(std::streamoff at) const {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.put('!');
  }
  std::unique_ptr<Journal> journal;

 private:
  const TemporaryDirectory temporary_;
  const std::string directory_ = temporary_.path();
};

TEST_F(JournalTest, KeepsWhatIsStoppedForTheNextDaemon) {
  EXPECT_TRUE(reopen().entries.empty());
  journal->add({{42, 7}, Mechanism::debugger});
  journal->add({{43, 8}, Mechanism::criu});
  journal->remove({42, 7});
  const JournalContent left = reopen();
  ASSERT_EQ(left.entries.size(), 1U);
  EXPECT_EQ(left.entries[0].process, (ProcessKey{43, 8}));
  EXPECT_EQ(left.entries[0].mechanism, Mechanism::criu);
  EXPECT_EQ(left.damaged, 0U);
  EXPECT_TRUE(reopen().entries.empty()) << "an entry was left twice";
}

TEST_F(JournalTest, HasOneEntryForAProcess) {
  reopen();
  journal->add({{42, 7}, Mechanism::self_debug});
  journal->add({{42, 7}, Mechanism::debugger});
  const JournalContent left = reopen();
  ASSERT_EQ(left.entries.size(), 1U);
  EXPECT_EQ(left.entries[0].mechanism, Mechanism::debugger);
}

TEST_F(JournalTest, TellsDamagedEntriesFromGoodOnes) {
  reopen();
  journal->add({{42, 7}, Mechanism::debugger});
  journal->add({{43, 8}, Mechanism::debugger});
  damage(8);  // in the first entry's pid
  const JournalContent left = reopen();
  EXPECT_EQ(left.damaged, 1U);
  ASSERT_EQ(left.entries.size(), 1U);
  EXPECT_EQ(left.entries[0].process.pid, 43);
}

// Its checksum is right, and as a pid it is 0: everybody in our process group, to kill(2).
TEST_F(JournalTest, APidThatIsNoneIsDamaged) {
  reopen();
  constexpr u8 kRecord[] = {0x6a, 0x72, 0x6e, 0x33, 1,    0,    0,    0,    0,    0,   0,
                            0,    1,    0,    0,    0,    1,    0,    0,    0,    0,   0,
                            0,    0,    0x1f, 0x8e, 0x11, 0x4d, 0x3e, 0x95, 0x47, 0x15};
  std::fstream(path(), std::ios::in | std::ios::out | std::ios::binary)
      .write(reinterpret_cast<const char*>(kRecord), sizeof kRecord);
  const JournalContent left = reopen();
  EXPECT_EQ(left.damaged, 1U);
  EXPECT_TRUE(left.entries.empty());
}

// To write to its memory would end the daemon by SIGBUS.
TEST_F(JournalTest, IsRefusedWhereThereIsNoRoomForIt) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root has a full file system to try it on";
  }
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string directory = path().substr(0, path().rfind('/'));
    const bool is_small = ::unshare(CLONE_NEWNS) == 0 &&
                          ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                          ::mount("none", directory.c_str(), "tmpfs", 0, "size=32k") == 0;
    JournalContent left;
    const auto opened = Journal::open(path(), left);
    ::_exit(!is_small ? 255 : opened ? 0 : opened.error().code);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), ENOSPC);
}

TEST_F(JournalTest, SurvivesAFileThatIsSomethingElse) {
  std::ofstream(path()) << "this is not a journal at all, but a text of some length";
  EXPECT_GE(reopen().damaged, 1U);
  EXPECT_EQ(reopen().damaged, 0U);
}

}  // namespace
}  // namespace gp::daemon
