#include "daemon/journal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace gp::daemon {
namespace {

class JournalTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/gpreempt_journal.XXXXXX";
    directory_ = ::mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
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
  std::string directory_;
};

TEST_F(JournalTest, KeepsWhatIsStoppedForTheNextDaemon) {
  EXPECT_TRUE(reopen().entries.empty());
  journal->add({{42, 7}, sched::Way::debugger});
  journal->add({{43, 8}, sched::Way::criu});
  journal->remove({42, 7});
  const JournalContent left = reopen();
  ASSERT_EQ(left.entries.size(), 1U);
  EXPECT_EQ(left.entries[0].process, (discover::ProcessKey{43, 8}));
  EXPECT_EQ(left.entries[0].way, sched::Way::criu);
  EXPECT_EQ(left.damaged, 0U);
  EXPECT_TRUE(reopen().entries.empty()) << "an entry was left twice";
}

TEST_F(JournalTest, HasOneEntryForAProcess) {
  reopen();
  journal->add({{42, 7}, sched::Way::self_debug});
  journal->add({{42, 7}, sched::Way::debugger});
  const JournalContent left = reopen();
  ASSERT_EQ(left.entries.size(), 1U);
  EXPECT_EQ(left.entries[0].way, sched::Way::debugger);
}

TEST_F(JournalTest, TellsDamagedEntriesFromGoodOnes) {
  reopen();
  journal->add({{42, 7}, sched::Way::debugger});
  journal->add({{43, 8}, sched::Way::debugger});
  damage(8);  // in the first entry's pid
  const JournalContent left = reopen();
  EXPECT_EQ(left.damaged, 1U);
  ASSERT_EQ(left.entries.size(), 1U);
  EXPECT_EQ(left.entries[0].process.pid, 43);
}

TEST_F(JournalTest, SurvivesAFileThatIsSomethingElse) {
  std::ofstream(path()) << "this is not a journal at all, but a text of some length";
  EXPECT_GE(reopen().damaged, 1U);
  EXPECT_EQ(reopen().damaged, 0U);
}

}  // namespace
}  // namespace gp::daemon
