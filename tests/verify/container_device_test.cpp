// `gpreempt verify --container`, with a docker whose only container is this machine: what docker
// itself does is not the subject here.
#include <gtest/gtest.h>
#include <signal.h>

#include "verify/verify_support.h"

namespace gp::verify {
namespace {

using vgpu::server::Child;

constexpr char kDocker[] =
    "#!/bin/bash\n"
    "echo \"$*\" >> \"$(dirname \"$0\")/calls\"\n"
    "case $1 in\n"
    "  cp)\n"
    "    [[ \"$2 $3\" == *box:* ]] || { echo 'No such container' >&2; exit 1; }\n"
    "    exec cp -r \"${2#box:}\" \"${3#box:}\" ;;\n"
    "  exec)\n"
    "    shift\n"
    "    while [[ $1 == -* ]]; do [[ $1 != -u ]] || shift; shift; done\n"
    "    shift\n"
    "    exec \"$@\" ;;\n"
    "esac\n";

class InAContainer : public Verify {
 protected:
  void SetUp() override {
    Verify::SetUp();
    // An unpacked release, all but for the files.
    fs::create_directories(release() + "/bin");
    for (const char* name : {"gpreemptd", "gpreempt-load", "gpreempt-keeper",
                             "gpreempt-pause-guard", "vgpu", "vgpud"}) {
      fs::create_symlink(fs::path(GPREEMPT_BIN_DIR) / name, release() + "/bin/" + name);
    }
    fs::create_symlink(GPREEMPT_BIN_DIR "/../lib", release() + "/lib");
    fs::copy(GPREEMPT_BIN_DIR "/gpreempt", release() + "/bin");
    std::ofstream(release() + "/install.sh") << "#!/bin/sh\n";
    fs::create_directory(home_ + "/tools");
    std::ofstream(home_ + "/tools/docker") << kDocker;
    fs::permissions(home_ + "/tools/docker", fs::perms::owner_all);
    path_ = std::getenv("PATH");
    ::setenv("PATH", (home_ + "/tools:" + path_).c_str(), 1);
    ASSERT_EQ(vgpu::server::run(vgpu({"start", "boxed"})).status, 0);
    before_ = processes();
  }
  void TearDown() override {
    vgpu::server::run(vgpu({"stop", "boxed"}));
    ::setenv("PATH", path_.c_str(), 1);
    Verify::TearDown();
  }

  std::string release() const { return home_ + "/release"; }
  Words command(const std::string& container, const Words& more) const {
    return with(vgpu({"exec", "boxed", "--", release() + "/bin/gpreempt", "verify", "--container",
                      container, "--output", output()}),
                more);
  }
  // In the container, by the first call of docker.
  std::string place() const {
    std::string words;
    std::getline(std::ifstream(home_ + "/tools/calls"), words);
    return words.substr(words.rfind("box:") + 4);
  }
  void expect_nothing_left_inside() const {
    EXPECT_EQ(place().find("/tmp/gpreempt-"), 0u) << place();
    EXPECT_FALSE(fs::exists(place()));
    EXPECT_FALSE(fs::exists(place() + "-results"));
    EXPECT_TRUE(eventually([&] { return processes() == before_; }))
        << testing::PrintToString(processes());
  }
  Child begun() const {
    Child child(with({"sh", "-c", "exec \"$0\" \"$@\" 2>&1"},
                     command("box", {"--rounds", "1000", "--step", "mechanisms"})));
    EXPECT_NE(child.read_until("mechanisms: ").find("mechanisms: "), std::string::npos);
    return child;
  }

  std::string path_;
  std::vector<std::pair<pid_t, std::string>> before_;
};

TEST_F(InAContainer, VerifyBringsItsResultsAndLeavesNothing) {
  const Outcome outcome =
      vgpu::server::run(command("box", {"--rounds", "1", "--step", "discovery"}));
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  expect_met("discovery", "in the driver's list");
  EXPECT_TRUE(fs::exists(output() + ".tar.gz"));
  EXPECT_NE(outcome.out.find("Brought from box: " + output() + ".tar.gz"), std::string::npos)
      << outcome.out;
  expect_nothing_left_inside();
}

TEST_F(InAContainer, CtrlCBringsWhatWasMeasured) {
  Child child = begun();
  child.signal(SIGINT);
  const Outcome outcome = child.wait();
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  EXPECT_NE(outcome.out.find("verify was interrupted in the step mechanisms"), std::string::npos)
      << outcome.out;
  expect_met("program", "exact results");
  EXPECT_TRUE(fs::exists(output() + ".tar.gz"));
  expect_nothing_left_inside();
}

TEST_F(InAContainer, VerifyEndsWithWhoeverStartedIt) {
  Child child = begun();
  child.signal(SIGKILL);
  child.wait();
  EXPECT_TRUE(eventually([&] { return processes() == before_; }))
      << testing::PrintToString(processes());
  fs::remove_all(place());
  fs::remove_all(place() + "-results");
}

TEST_F(InAContainer, WhichDoesNotRunIsNamed) {
  const Outcome outcome = vgpu::server::run(command("crate", {"--rounds", "1"}));
  EXPECT_EQ(outcome.status, 5);
  EXPECT_NE(outcome.err.find("docker cannot copy into the container crate"), std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("docker ps"), std::string::npos) << outcome.err;
  EXPECT_FALSE(fs::exists(output()));
}

TEST_F(InAContainer, AReleaseIsNeeded) {
  fs::remove(release() + "/install.sh");
  const Outcome outcome = vgpu::server::run(command("box", {"--rounds", "1"}));
  EXPECT_EQ(outcome.status, 5);
  EXPECT_NE(outcome.err.find("is no unpacked release"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace gp::verify
