// Two containers made by podman and runc from an image built with examples/containers/Dockerfile,
// on ROCr 6.4, and the daemon outside. tests/containers/run says where the runtime comes from.
#include <cstdlib>
#include <filesystem>

#include "daemon/daemon_support.h"
#include "server/server_support.h"

namespace gp::daemon {
namespace {

namespace fs = std::filesystem;
using vgpu::server::Outcome;

class Podman : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    const char* root = std::getenv("GPREEMPT_TEST_ROCM_ROOT");
    ASSERT_NE(root, nullptr) << "this is started by tests/containers/run";
    build_image(root);
  }

  // What podman has mounted; if the test has failed, also what runs.
  void TearDown() override {
    const Outcome removed = vgpu::server::run(podman({"rm", "--all", "--force", "--time", "0"}));
    EXPECT_EQ(removed.status, 0) << removed.err;
    DaemonTest::TearDown();
  }

  // Storage of its own, which ends with the test. Not on the virtual GPU: podman has no use for it.
  Words podman(const Words& words) const {
    Words all = {"/usr/bin/env",     "-u",        "LD_PRELOAD",   "podman",           "--root",
                 storage("root"),    "--runroot", storage("run"), "--storage-driver", "vfs",
                 "--cgroup-manager", "cgroupfs"};
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }

  void build_image(const std::string& root) const {
    const std::string context = storage("context");
    fs::create_directories(context + "/lib/gpreempt");
    fs::copy(GPREEMPT_LIB_DIR "/libgpreempt_agent.so", context + "/lib/gpreempt");
    const std::string archive = storage("rocm.tar");
    const Outcome packed = vgpu::server::run({"/bin/tar", "-C", root, "-cf", archive, "."});
    ASSERT_EQ(packed.status, 0) << packed.err;
    const Outcome imported = vgpu::server::run(podman({"import", archive, "localhost/rocm"}));
    ASSERT_EQ(imported.status, 0) << imported.err;
    const Outcome built =
        vgpu::server::run(podman({"build", "--runtime", "runc", "--network", "none", "--build-arg",
                                  "BASE=localhost/rocm", "-t", "localhost/service", "-f",
                                  GPREEMPT_SOURCE_DIR "/examples/containers/Dockerfile", context}));
    ASSERT_EQ(built.status, 0) << built.out << built.err;
  }

  // The options of docs/containers.md; in place of the devices what makes up the virtual GPU.
  std::unique_ptr<Program> start(const std::string& work_class) const {
    return start(work_class, "localhost/service",
                 {"-v", directory() + ":/run/gpreempt:ro", "-e", "GPREEMPT_CLASS=" + work_class});
  }
  // The same by CDI, in an image that has nothing of gpreempt in it.
  std::unique_ptr<Program> start_by_device(const std::string& work_class) const {
    return start(work_class, "localhost/rocm", {"--device", "gpreempt.io/class=" + work_class});
  }
  std::unique_ptr<Program> start(const std::string& work_class, const std::string& image,
                                 const Words& scheduled) const {
    const std::string gpu = std::getenv("GPREEMPT_VGPU_DIR"), preload = std::getenv("LD_PRELOAD");
    const std::string build = GPREEMPT_BUILD_DIR;
    Words words = {"run", "--rm", "-i", "--runtime", "runc", "--network", "none"};
    words.insert(words.end(), scheduled.begin(), scheduled.end());
    const Words others = {
        "--ulimit", "nofile=1024:1024",           "--ulimit", "nproc=4096:4096",
        "-e",       "GPREEMPT_JOB=" + work_class, "-v",       gpu + ":" + gpu,
        "-e",       "GPREEMPT_VGPU_DIR=" + gpu,   "-e",       "LD_PRELOAD=" + preload,
        "-v",       build + ":" + build + ":ro",  image,      GPREEMPT_RELEASE_PROGRAM};
    words.insert(words.end(), others.begin(), others.end());
    auto program =
        std::make_unique<Program>(podman(words), Environment{}, storage(work_class + ".log"));
    EXPECT_EQ(program->line(), "ready");
    return program;
  }

  nlohmann::json job(const std::string& name) {
    const nlohmann::json now = status();
    for (const auto& job : now["jobs"]) {
      if (job["job"] == name) {
        return job;
      }
    }
    return nlohmann::json::object();
  }
  bool job_has_state(const std::string& name, const std::string& state) {
    return eventually([&] { return job(name).value("state", "") == state; });
  }

  // Three times; then both end, and their results are exact.
  void expect_to_be_preempted(Program& training, Program& server) {
    for (const char* name : {"offline", "online"}) {
      ASSERT_TRUE(eventually([&] {
        const auto found = job(name);
        return found.contains("processes") && found["processes"][0].value("agent", false);
      })) << status();
    }
    ASSERT_EQ(training.ask("launch"), "ok");
    ASSERT_EQ(training.ask("progress"), "ok");
    for (int round = 0; round < 3; ++round) {
      SCOPED_TRACE(round);
      ASSERT_EQ(server.ask("launch"), "ok");
      ASSERT_TRUE(job_has_state("offline", "stopped")) << status();
      EXPECT_EQ(training.ask("value"), training.ask("value"));
      ASSERT_EQ(server.ask("finish"), "exact");
      ASSERT_TRUE(job_has_state("offline", "running")) << status();
      ASSERT_EQ(training.ask("progress"), "ok");
    }
    EXPECT_EQ(training.ask("finish"), "exact");
    for (Program* program : {&server, &training}) {
      program->end_input();
      EXPECT_EQ(program->wait(), 0);
    }
  }

 private:
  std::string storage(const std::string& name) const { return storage_.path() + "/" + name; }
  const TemporaryDirectory storage_;
};

TEST_F(Podman, OnlineWorkInOneContainerStopsOfflineWorkInAnotherAndNothingIsLost) {
  start_daemon();
  const auto training = start("offline"), server = start("online");
  expect_to_be_preempted(*training, *server);
}

TEST_F(Podman, ADeviceIsAllThatAContainerNeeds) {
  start_daemon();
  const Outcome written = vgpu::server::run(
      {GPREEMPT_PROGRAM, "cdi", "--socket", socket(), "--output", "/run/cdi/gpreempt.json"});
  ASSERT_EQ(written.status, 0) << written.err;
  const auto training = start_by_device("offline"), server = start_by_device("online");
  expect_to_be_preempted(*training, *server);
}

}  // namespace
}  // namespace gp::daemon
