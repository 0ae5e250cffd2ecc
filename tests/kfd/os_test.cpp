// The seam to files: the running system, a recording of it, and the recording played back.
#include "os/os.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "support/recorded_os.h"

namespace gp::kfd {
namespace {

namespace fs = std::filesystem;

class OsTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "gpreempt_os_" + std::to_string(::getpid());
    fs::create_directories(directory_ + "/queues/10");
    fs::create_directories(directory_ + "/queues/9");
    std::ofstream(directory_ + "/large") << std::string(100'000, 'x');
    fs::create_symlink("large", directory_ + "/link");
  }
  void TearDown() override { fs::remove_all(directory_); }
  std::string directory_;
};

TEST_F(OsTest, ReadsWholeFiles) {
  EXPECT_EQ(system_os().read_file(directory_ + "/large")->size(), 100'000u);
  EXPECT_FALSE(system_os().read_file("/proc/self/stat")->empty()) << "whose size is 0";
}

TEST_F(OsTest, ListsNumbersByValue) {
  EXPECT_EQ(*system_os().list_directory(directory_ + "/queues"),
            (std::vector<std::string>{"9", "10"}));
}

TEST_F(OsTest, SaysWhatFailedOnWhat) {
  const auto text = system_os().read_file(directory_ + "/none");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ENOENT);
  EXPECT_NE(text.error().message().find(directory_ + "/none"), std::string::npos);
  EXPECT_EQ(system_os().list_directory(directory_ + "/large").error().code, ENOTDIR);
  EXPECT_EQ(system_os().read_link(directory_ + "/large").error().code, EINVAL);
}

TEST_F(OsTest, KnowsASysfs) {
  const auto status = system_os().status(directory_);
  ASSERT_TRUE(status);
  EXPECT_FALSE(status->is_sysfs);
  EXPECT_TRUE(S_ISDIR(status->mode));
  if (const auto sysfs = system_os().status("/sys/kernel")) {
    EXPECT_TRUE(sysfs->is_sysfs);
  }
}

TEST_F(OsTest, ARecordingAnswersAsTheSystemDid) {
  Recording recording;
  RecordingOs recorder(system_os(), recording);
  const auto large = recorder.read_file(directory_ + "/large");
  const auto names = recorder.list_directory(directory_ + "/queues");
  const auto link = recorder.read_link(directory_ + "/link");
  const auto status = recorder.status(directory_ + "/large");
  const auto none = recorder.read_file(directory_ + "/none");
  ASSERT_TRUE(large && names && link && status && !none);

  const auto loaded = Recording::load(recording.save());
  ASSERT_TRUE(loaded);
  ReplayingOs os(*loaded);
  EXPECT_EQ(*os.read_file(directory_ + "/large"), *large);
  EXPECT_EQ(*os.list_directory(directory_ + "/queues"), *names);
  EXPECT_EQ(*os.read_link(directory_ + "/link"), *link);
  EXPECT_EQ(os.status(directory_ + "/large")->inode, status->inode);
  EXPECT_EQ(os.read_file(directory_ + "/none").error().code, ENOENT);
  EXPECT_EQ(os.read_file(directory_ + "/never asked").error().code, ENOENT);
  EXPECT_EQ(os.open(directory_ + "/large", 0).error().code, ENOTSUP);
}

TEST_F(OsTest, ARecordingThatIsCutIsRefused) {
  Recording recording;
  recording.add_file("/sys/a/b", "text\n");
  const std::string saved = recording.save();
  for (std::size_t length = 1; length < saved.size(); ++length) {
    const auto loaded = Recording::load(std::string_view(saved).substr(0, length));
    EXPECT_TRUE(!loaded || loaded->save() != saved) << length;
  }
}

}  // namespace
}  // namespace gp::kfd
