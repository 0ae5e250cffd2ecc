// Any requests to vgpud, through its own session code, from a client process that does nothing
// else: its memory and files are what the driver reads and writes, not the fuzzer's. The first byte
// says whether headers are made right. A call that waits is ended by the client's death.
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "abi/kfd.h"
#include "base/log.h"
#include "base/socket.h"
#include "messages.h"
#include "require.h"
#include "server/device_config.h"
#include "server/session.h"

namespace {

using namespace gp;
using namespace vgpu;

template <class T>
T must(Result<T> result) {
  fuzz::require(static_cast<bool>(result), "the server cannot be made");
  return std::move(*result);
}

// A process that connects whenever it is asked to and sends the connection back.
class Client {
 public:
  explicit Client(const std::string& path) {
    int ends[2];
    fuzz::require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      serve(ends[1], path);
    }
    ::close(ends[1]);
    socket_.reset(ends[0]);
  }
  ~Client() {
    kill();
    ::waitpid(pid_, nullptr, 0);
  }
  void kill() const { ::kill(pid_, SIGKILL); }
  pid_t pid() const { return pid_; }
  // Empty: it has died.
  UniqueFd connect() const {
    const u8 please = 1;
    u8 answer[8];
    auto received = send_message(socket_.get(), {&please, 1})
                        ? receive_message(socket_.get(), answer)
                        : Result<Received>(Error{EPIPE, "", ""});
    return received && received->files.size() == 1 ? std::move(received->files[0]) : UniqueFd();
  }

 private:
  [[noreturn]] static void serve(int socket, const std::string& path) {
    u8 question[8];
    for (;;) {
      const auto asked = receive_message(socket, question);
      const auto made = connect_to(path);
      if (!asked || asked->size == 0 || !made) {
        ::_exit(0);
      }
      const int file = made->get();
      (void)send_message(socket, {question, 1}, {}, {&file, 1});
    }
  }
  pid_t pid_ = 0;
  UniqueFd socket_;
};

// What the fuzzer need not find out: who we are, and that sizes agree.
void complete(std::vector<u8>& message, pid_t tid, const struct stat& kfd) {
  wire::RequestHeader header;
  if (message.size() < sizeof header) {
    return;
  }
  std::memcpy(&header, message.data(), sizeof header);
  header.magic = wire::kMagic;
  header.version = wire::kVersion;
  header.kind = 1 + header.kind % wire::kind_attach;
  header.tid = tid;
  header.file_device = kfd.st_dev;
  header.file_inode = kfd.st_ino;
  if (header.kind == wire::kind_ioctl) {
    header.size = static_cast<u32>(std::min<std::size_t>(
        message.size() - sizeof header, std::min<std::size_t>(wire::kMaxData, _IOC_SIZEMASK)));
    header.argument = _IOC(_IOC_READ | _IOC_WRITE, 'K', header.argument % 0x30, u64{header.size});
  }
  header.size = static_cast<u32>(message.size() - sizeof header);
  std::memcpy(message.data(), &header, sizeof header);
}

// A driver that is told to be slow or to hang is, and a fuzzer would wait for it.
bool is_told_to_hang(const std::vector<u8>& message) {
  wire::RequestHeader header;
  if (message.size() >= sizeof header) {
    std::memcpy(&header, message.data(), sizeof header);
  }
  return header.kind == wire::kind_inject || header.kind == wire::kind_open_writer;
}

class Bench {
 public:
  Bench() {
    set_log_level(LogLevel::error);
    // The first client is forked while there is one thread, the listener being there.
    listener_ = must(listen_on(path_));
    ::signal(SIGPIPE, SIG_IGN);
    client_ = std::make_unique<Client>(path_);
    driver::DriverConfig config;
    config.tree = directory_ + "/tree";
    config.gpu.cus = 1;
    config.vram_bytes = u64{64} << 20;
    driver_ = must(driver::Driver::create(std::move(config)));
    processes_ =
        must(server::Processes::create([this](pid_t pid) { driver_->process_exited(pid); }));
    std::thread([this] { end_what_waits(); }).detach();
  }
  static std::string make_directory() {
    static char path[] = "/tmp/gpreempt-fuzz-XXXXXX";
    fuzz::require(::mkdtemp(path) != nullptr, "mkdtemp");
    std::atexit([] {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    });
    return path;
  }

  // `opens`: the client has /dev/kfd open, without which no call gets far.
  void converse(std::vector<std::vector<u8>> messages, bool opens) {
    UniqueFd ours = client_->connect();
    if (!ours) {
      client_ = std::make_unique<Client>(path_);
      ours = client_->connect();
    }
    const UniqueFd theirs = must(accept_from(listener_.get()));
    server::Services services{*driver_, device_, *processes_, [] {},
                              [](UniqueFd, const std::function<void(int)>&) {}};
    client_pid_ = client_->pid();
    ++began_;
    std::thread server([&] {
      server::serve_connection(services, theirs.get());
      ::shutdown(theirs.get(), SHUT_RDWR);
    });
    struct stat kfd {};
    if (opens) {
      exchange(ours.get(), request(wire::kind_attach));
      const UniqueFd file = exchange(ours.get(), request(wire::kind_open_kfd));
      ::fstat(file.get(), &kfd);
    }
    for (auto& message : messages) {
      if (opens) {
        complete(message, client_->pid(), kfd);
      }
      if (!is_told_to_hang(message)) {
        exchange(ours.get(), message);
      }
    }
    ours.reset();
    server.join();
    client_pid_ = 0;
  }

 private:
  static std::vector<u8> request(u32 kind) {
    wire::RequestHeader header;
    header.kind = kind;
    const auto* bytes = reinterpret_cast<const u8*>(&header);
    return {bytes, bytes + sizeof header};
  }
  // The file that came with the answer, if there was one.
  static UniqueFd exchange(int socket, std::span<const u8> message) {
    static std::vector<u8> answer(sizeof(wire::Reply));
    auto received = send_message(socket, message) ? receive_message(socket, answer)
                                                  : Result<Received>(Error{EPIPE, "", ""});
    return received && !received->files.empty() ? std::move(received->files[0]) : UniqueFd();
  }
  void end_what_waits() {
    for (u64 seen = 0;; seen = began_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      const pid_t pid = client_pid_;
      if (pid != 0 && seen == began_) {
        ::kill(pid, SIGKILL);
      }
    }
  }

  const std::string directory_ = make_directory(), path_ = directory_ + "/socket";
  UniqueFd listener_;
  std::unique_ptr<Client> client_;
  protocol::DeviceDescription device_;
  std::unique_ptr<driver::Driver> driver_;
  std::unique_ptr<server::Processes> processes_;
  std::atomic<pid_t> client_pid_ = 0;
  std::atomic<u64> began_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto* bench = new Bench;
  if (size == 0) {
    return 0;
  }
  auto messages = fuzz::messages_of({data + 1, size - 1});
  if (messages.size() > 8) {
    messages.resize(8);
  }
  bench->converse(std::move(messages), data[0] % 2 == 0);
  return 0;
}
