// A client that says nonsense loses its connection; nobody else notices.
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cstring>
#include <random>

#include "abi/kfd.h"
#include "base/socket.h"
#include "protocol/wire.h"
#include "server/server_support.h"

namespace vgpu::server {
namespace {

using gp::u64;
using gp::u8;

class Protocol : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    ASSERT_EQ(start("lab").status, 0);
  }
  UniqueFd connect() { return std::move(*gp::connect_to(directory("lab") + "/socket")); }

  static wire::Request request(wire::Kind kind, const std::string& text = "") {
    wire::Request request;
    request.kind = kind;
    request.tid = ::gettid();
    request.size = static_cast<gp::u32>(text.size());
    std::memcpy(request.data, text.data(), text.size());
    return request;
  }
  static void send(const UniqueFd& socket, const wire::Request& request, std::size_t size = 0,
                   int fd = -1) {
    const auto* bytes = reinterpret_cast<const u8*>(&request);
    // The server may have closed the connection already: then there is nothing more to say.
    const std::span<const int> files(&fd, fd < 0 ? 0 : 1);
    (void)!gp::send_message(
        socket.get(), {bytes, size != 0 ? size : wire::kRequestHeader + request.size}, {}, files);
  }
  // The result of a call, or nothing if the server closed the connection.
  static std::optional<int> answer(const UniqueFd& socket) {
    wire::Reply reply;
    const auto got =
        gp::receive_message(socket.get(), {reinterpret_cast<u8*>(&reply), sizeof reply});
    if (!got || got->size < wire::kReplyHeader) {
      return std::nullopt;
    }
    return reply.result;
  }
  void expect_refused(const wire::Request& bad, std::size_t size = 0) {
    const UniqueFd bystander = connect();
    const UniqueFd socket = connect();
    send(socket, bad, size);
    EXPECT_EQ(answer(socket), std::nullopt) << "closed";
    send(bystander, request(wire::kind_ping));
    EXPECT_EQ(answer(bystander), 0) << "others go on";
  }
};

TEST_F(Protocol, GarbageClosesTheConnection) {
  std::mt19937 random(3);
  for (int i = 0; i < 50; ++i) {
    wire::Request noise;
    for (std::size_t at = 0; at < sizeof noise; ++at) {
      reinterpret_cast<u8*>(&noise)[at] = static_cast<u8>(random());
    }
    expect_refused(noise, 1 + random() % sizeof noise);
  }
}

TEST_F(Protocol, WrongMagicVersionKindOrSizeClosesTheConnection) {
  wire::Request bad = request(wire::kind_ping);
  bad.magic ^= 1;
  expect_refused(bad);
  bad = request(wire::kind_ping);
  bad.version += 1;
  expect_refused(bad);
  bad = request(static_cast<wire::Kind>(4711));
  expect_refused(bad);
  bad = request(wire::kind_ping);
  bad.size = 100;  // says more than it sends
  expect_refused(bad, wire::kRequestHeader + 99);
  bad.size = wire::kMaxData + 1;
  expect_refused(bad, sizeof bad);
  bad.size = 0xffffffff;
  expect_refused(bad, sizeof bad);
  bad = request(wire::kind_ping);
  expect_refused(bad, wire::kRequestHeader - 1);
}

TEST_F(Protocol, AMessageLargerThanAnyClosesTheConnection) {
  const UniqueFd socket = connect();
  const std::vector<u8> large(3 * sizeof(wire::Request), 0x56);
  ASSERT_TRUE(gp::send_message(socket.get(), large));
  EXPECT_EQ(answer(socket), std::nullopt);
}

TEST_F(Protocol, AnIoctlWhoseSizeDoesNotMatchItsCommandClosesTheConnection) {
  wire::Request bad = request(wire::kind_ioctl, std::string(8, '\0'));
  bad.argument = u64{16} << 16 | gp::abi::kKfdIoctlBase << 8 | gp::abi::kfd_get_version;
  expect_refused(bad);
  bad.argument = u64{1} << 40 | u64{8} << 16;
  expect_refused(bad);
}

TEST_F(Protocol, AThreadThatIsNotTheCallersClosesTheConnection) {
  wire::Request bad = request(wire::kind_ioctl, std::string(8, '\0'));
  bad.argument = u64{8} << 16 | gp::abi::kKfdIoctlBase << 8 | gp::abi::kfd_get_version;
  bad.tid = 1;
  expect_refused(bad);
  bad.tid = -5;
  expect_refused(bad);
}

TEST_F(Protocol, OpeningTheDeviceNeedsAControlConnection) {
  expect_refused(request(wire::kind_open_kfd));
  const UniqueFd control = connect();
  send(control, request(wire::kind_attach));
  EXPECT_EQ(answer(control), 0);
  const UniqueFd socket = connect();
  send(socket, request(wire::kind_open_kfd));
  EXPECT_EQ(answer(socket), 0);
  expect_refused(request(wire::kind_attach));  // a second one
}

TEST_F(Protocol, AnIoctlOnAFileThatIsNoDeviceFails) {
  const UniqueFd socket = connect();
  wire::Request call = request(wire::kind_ioctl, std::string(8, '\0'));
  call.argument = u64{8} << 16 | gp::abi::kKfdIoctlBase << 8 | gp::abi::kfd_get_version;
  call.file_inode = 12345;
  send(socket, call);
  const std::optional<int> result = answer(socket);
  ASSERT_TRUE(result.has_value());
  EXPECT_LT(*result, 0);
}

TEST_F(Protocol, UserMemoryThatCouldShrinkIsRefused) {
  gp::abi::AllocMemoryArgs args{};
  args.size = 4096;
  args.flags = gp::abi::alloc_userptr;
  wire::Request call =
      request(wire::kind_ioctl, std::string(reinterpret_cast<const char*>(&args), sizeof args));
  call.argument =
      u64{sizeof args} << 16 | gp::abi::kKfdIoctlBase << 8 | gp::abi::kfd_alloc_memory_of_gpu;
  const UniqueFd unsealed(::memfd_create("unsealed", MFD_CLOEXEC));
  const UniqueFd socket = connect();
  send(socket, call, 0, unsealed.get());
  EXPECT_EQ(answer(socket), std::nullopt);
}

TEST_F(Protocol, ConnectionsThatSayNothingCostNobodyAnything) {
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 200; ++i) {
    silent.push_back(connect());
  }
  EXPECT_EQ(vgpu({"exec", "lab", "--", client(), "version"}).out, "1.17\n");
  EXPECT_EQ(vgpu({"stop", "lab"}).status, 0) << "nor do they keep the server from ending";
  for (const UniqueFd& socket : silent) {
    EXPECT_EQ(answer(socket), std::nullopt);
  }
}

TEST_F(Protocol, HangingUpWithoutReadingTheAnswerIsFine) {
  for (int i = 0; i < 100; ++i) {
    const UniqueFd socket = connect();
    send(socket, request(wire::kind_stats));
  }
  const UniqueFd socket = connect();
  send(socket, request(wire::kind_ping));
  EXPECT_EQ(answer(socket), 0);
}

}  // namespace
}  // namespace vgpu::server
