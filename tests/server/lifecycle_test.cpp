// Whoever dies, however: nobody hangs, nothing is left, a new start works.
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "base/socket.h"
#include "protocol/wire.h"
#include "server/server_support.h"

namespace vgpu::server {
namespace {

class Lifecycle : public ServerTest {
 protected:
  Child on(const std::string& name, const std::string& what) {
    return Child({vgpu(), "exec", name, "--", client(), what});
  }
  bool answers(const std::string& name) {
    return vgpu({"exec", name, "--", client(), "version"}).out == "1.17\n";
  }
};

TEST_F(Lifecycle, StartStopStart) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(start("lab").status, 0);
    EXPECT_TRUE(answers("lab"));
    EXPECT_EQ(vgpu({"stop", "lab"}).status, 0);
    EXPECT_TRUE(leftovers().empty());
  }
}

TEST_F(Lifecycle, TheSameNameTwiceIsRefused) {
  ASSERT_EQ(start("lab").status, 0);
  EXPECT_EQ(start("lab").status, 1);
  EXPECT_TRUE(answers("lab"));
}

TEST_F(Lifecycle, TheRuntimeDirectoryIsPrivate) {
  ASSERT_EQ(start("lab").status, 0);
  struct stat status {};
  ASSERT_EQ(::stat(directory("lab").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

// It would have root map its files.
TEST_F(Lifecycle, AServerOfAnotherUserIsNotAsked) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can be another user";
  }
  const gp::TemporaryDirectory theirs;
  ::chmod(theirs.path().c_str(), 0777);
  for (const uid_t owner : {uid_t{60'001}, uid_t{0}}) {
    const std::string path = theirs.file(wire::kSocketName);
    ::unlink(path.c_str());
    ASSERT_EQ(::seteuid(owner), 0);
    const auto listener = gp::listen_on(path);  // the kernel notes who listens
    ASSERT_EQ(::seteuid(0), 0);
    ASSERT_TRUE(listener);
    Child program({"/usr/bin/env", "LD_PRELOAD=" GPREEMPT_BIN_DIR "/../lib/libvgpu.so",
                   std::string(wire::kEnvironment) + "=" + theirs.path(), client(), "version"});
    const auto connection = gp::accept_from(listener->get());
    ASSERT_TRUE(connection);
    char request[4096];
    const bool is_asked = ::recv(connection->get(), request, sizeof request, 0) > 0;
    EXPECT_EQ(is_asked, owner == 0);
  }
}

TEST_F(Lifecycle, SigtermEndsTheServerInGoodOrder) {
  ASSERT_EQ(start("lab").status, 0);
  const pid_t server = server_pid("lab");
  Child client = on("lab", "wait");
  ASSERT_TRUE(client.expect_line("ready"));
  ::kill(server, SIGTERM);
  EXPECT_TRUE(has_ended(server));
  EXPECT_EQ(client.wait().status, 0);
  EXPECT_TRUE(leftovers().empty());
}

TEST_F(Lifecycle, StopDoesNotWaitForItsClients) {
  ASSERT_EQ(start("lab").status, 0);
  Child waiting = on("lab", "wait"), busy = on("lab", "threads"), idle = on("lab", "hold");
  for (Child* child : {&waiting, &busy, &idle}) {
    ASSERT_TRUE(child->expect_line("ready"));
  }
  EXPECT_EQ(vgpu({"stop", "lab"}).status, 0);
  EXPECT_EQ(waiting.wait().status, 0);
  EXPECT_EQ(busy.wait().status, 0);
}

TEST_F(Lifecycle, AKilledServerIsAnErrorForItsClientsNotAHang) {
  ASSERT_EQ(start("lab").status, 0);
  Child waiting = on("lab", "wait"), looping = on("lab", "loop"), threads = on("lab", "threads");
  for (Child* child : {&waiting, &looping, &threads}) {
    ASSERT_TRUE(child->expect_line("ready"));
  }
  const pid_t server = server_pid("lab");
  ::kill(server, SIGKILL);
  for (Child* child : {&waiting, &looping, &threads}) {
    const Outcome outcome = child->wait();
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const std::size_t first = outcome.err.find("vgpu: the virtual GPU");
    EXPECT_NE(first, std::string::npos);
    EXPECT_EQ(outcome.err.find("vgpu: the virtual GPU", first + 1), std::string::npos)
        << "said once";
  }
  ASSERT_TRUE(has_ended(server));
  EXPECT_EQ(start("lab").status, 0) << "what is left does not block a new start";
  EXPECT_TRUE(answers("lab"));
}

TEST_F(Lifecycle, ServersKilledAtRandomMoments) {
  std::mt19937 random(7);
  for (int round = 0; round < 8; ++round) {
    ASSERT_EQ(start("lab").status, 0);
    const pid_t server = server_pid("lab");
    std::vector<Child> clients;
    for (const char* what : {"loop", "wait", "threads"}) {
      clients.push_back(on("lab", what));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 50'000));
    ::kill(server, SIGKILL);
    for (Child& client : clients) {
      // 0: a client saw the device go. 3: `vgpu exec` did, before the client began.
      const Outcome outcome = client.wait();
      EXPECT_TRUE(outcome.status == 0 || outcome.status == 3) << outcome.status << outcome.err;
    }
    ASSERT_TRUE(has_ended(server));
  }
}

TEST_F(Lifecycle, ClientsKilledAtRandomMomentsLeaveNoTrace) {
  ASSERT_EQ(start("lab").status, 0);
  std::mt19937 random(8);
  for (int round = 0; round < 30; ++round) {
    Child client = on("lab", round % 2 ? "threads" : "loop");
    if (round % 3 != 0) {
      ASSERT_TRUE(client.expect_line("ready"));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 5'000));
    client.signal(SIGKILL);
    EXPECT_EQ(client.wait().status, 128 + SIGKILL);
  }
  // The server tears them down on its own; the deadline only bounds a failure.
  const std::string entries = directory("lab") + "/tree/sys/devices/virtual/kfd/kfd/proc";
  for (int i = 0; i < 1000 && !std::filesystem::is_empty(entries); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(std::filesystem::is_empty(entries));
  EXPECT_NE(vgpu({"stats", "lab", "--json"}).out.find("\"vram_used_bytes\": 0,"),
            std::string::npos);
  EXPECT_TRUE(answers("lab"));
}

TEST_F(Lifecycle, StaleFilesOfAnyKindDoNotBlockAStart) {
  namespace fs = std::filesystem;
  fs::create_directories(directory("lab"));
  fs::permissions(devices(), fs::perms::owner_all);
  std::ofstream(directory("lab") + "/lock") << "4711";
  fs::create_directories(directory("lab") + "/tree/sys/class/kfd/kfd");
  std::ofstream(directory("lab") + "/tree/dev") << "a file where a directory belongs";
  { const auto listener = gp::listen_on(directory("lab") + "/socket"); }  // nobody listens now
  EXPECT_EQ(start("lab").status, 0);
  EXPECT_TRUE(answers("lab"));
}

TEST_F(Lifecycle, ARunThatIsKilledTakesItsServerAlong) {
  Child runner({vgpu(), "run", "--", client(), "wait"});
  ASSERT_TRUE(runner.expect_line("ready"));
  const pid_t server = server_pid("run-" + std::to_string(runner.pid()));
  ASSERT_GT(server, 0);
  runner.signal(SIGKILL);
  EXPECT_TRUE(has_ended(server));
  EXPECT_TRUE(leftovers().empty());
}

TEST_F(Lifecycle, ARunWhoseServerIsKilledCleansUp) {
  Child runner({vgpu(), "run", "--", client(), "wait"});
  ASSERT_TRUE(runner.expect_line("ready"));
  ::kill(server_pid("run-" + std::to_string(runner.pid())), SIGKILL);
  const Outcome outcome = runner.wait();
  EXPECT_EQ(outcome.status, 0) << "the client's own status";
  EXPECT_NE(outcome.err.find("vgpud"), std::string::npos);
  EXPECT_TRUE(leftovers().empty());
}

TEST_F(Lifecycle, WhatARunLeftBehindGoesWithTheNext) {
  Child runner({vgpu(), "run", "--", client(), "wait"});
  ASSERT_TRUE(runner.expect_line("ready"));
  const pid_t server = server_pid("run-" + std::to_string(runner.pid()));
  runner.signal(SIGSTOP);  // so that it cannot clean up
  ::kill(server, SIGKILL);
  runner.signal(SIGKILL);
  runner.wait();
  ASSERT_TRUE(has_ended(server));
  EXPECT_FALSE(leftovers().empty());
  EXPECT_EQ(vgpu({"run", "--", "true"}).status, 0);
  EXPECT_TRUE(leftovers().empty());
}

TEST_F(Lifecycle, AClientInAPidNamespaceIsServed) {
  if (run({"unshare", "--pid", "--fork", "true"}).status != 0) {
    GTEST_SKIP() << "no right to make a pid namespace";
  }
  ASSERT_EQ(start("lab").status, 0);
  EXPECT_EQ(run({"unshare", "--pid", "--fork", "--mount-proc", vgpu(), "exec", "lab", "--",
                 client(), "version"})
                .out,
            "1.17\n");
}

TEST_F(Lifecycle, TwoDevicesSideBySide) {
  ASSERT_EQ(start("old", {"--kfd", "1.11"}).status, 0);
  ASSERT_EQ(start("new", {"--profile", "mi50"}).status, 0);
  EXPECT_EQ(vgpu({"exec", "old", "--", client(), "version"}).out, "1.11\n");
  EXPECT_EQ(vgpu({"exec", "new", "--", client(), "version"}).out, "1.17\n");
  const std::string list = vgpu({"list"}).out;
  EXPECT_NE(list.find("old"), std::string::npos);
  EXPECT_NE(list.find("mi50"), std::string::npos);
  EXPECT_EQ(vgpu({"stop", "old"}).status, 0);
  EXPECT_TRUE(answers("new"));
}

}  // namespace
}  // namespace vgpu::server
