#include "bench/floods.h"

#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "base/socket.h"
#include "client/frame.h"
#include "libc/eventfd.h"

namespace gp::bench {
namespace {

using wire::Kind;

constexpr int kConnections = 100;   // of 512 that a user may have
constexpr int kMessagesInARow = 8;  // on each, before the next one's turn
constexpr u64 kSecondNs = 1'000'000'000;

template <class T>
std::vector<u8> message_of(const T& message) {
  const auto bytes = wire::bytes_of(message);
  return {bytes.begin(), bytes.end()};
}

std::vector<u8> empty_message(Kind kind) {
  return message_of(wire::Header{.kind = kind, .size = sizeof(wire::Header)});
}

std::vector<std::vector<u8>> messages_of(Flood flood) {
  switch (flood) {
    case Flood::status: return {empty_message(Kind::status)};
    case Flood::trace: return {empty_message(Kind::trace)};
    case Flood::suspends: {
      wire::Suspend suspend;
      suspend.duration_ns = kSecondNs;
      return {message_of(suspend), message_of(wire::Resume{})};
    }
    case Flood::marks: {
      wire::OnlineMark end;
      end.header.kind = Kind::online_end;
      return {message_of(wire::OnlineMark{}), message_of(end)};
    }
    case Flood::agents: {
      wire::QueueCreated created;
      created.gpu_id = 1;
      return {message_of(wire::Hello{}), message_of(created), message_of(wire::QueueDestroyed{})};
    }
    case Flood::garbage: return {std::vector<u8>(64, 0xa5)};
    default: return {};
  }
}

// The directory of the socket may be closed to the attacker, who on another machine finds it open:
// for the kernel it connects as the attacker, whatever name the file system looks at.
UniqueFd connect_again(const std::string& path) {
  auto connection = connect_to(path);
  return connection ? std::move(*connection) : UniqueFd();
}

class Attacker {
 public:
  Attacker(Flood flood, const std::string& path, u64& sent)
      : flood_(flood), path_(path), sent_(sent), messages_(messages_of(flood)) {}

  [[noreturn]] void run() {
    if (flood_ == Flood::wake_ups) {
      wake_up();
    }
    std::vector<UniqueFd> connections(flood_ == Flood::connections ? 1 : kConnections);
    for (;;) {
      for (UniqueFd& connection : connections) {
        if (flood_ == Flood::connections || !connection) {
          connection = connect_again(path_);
          ++sent_;
        }
        use(connection);
      }
    }
  }

 private:
  // One that was cut off is empty afterwards.
  void use(UniqueFd& connection) {
    for (int i = 0; i < kMessagesInARow && connection && !messages_.empty(); ++i) {
      const std::vector<u8>& message = messages_[next_++ % messages_.size()];
      if (::send(connection.get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >=
          0) {
        ++sent_;
      } else if (errno != EAGAIN) {
        connection.reset();
      }
    }
    ssize_t got = 1;
    while (connection && got > 0) {
      got = ::recv(connection.get(), answer_, sizeof answer_, MSG_DONTWAIT);
      if (got == 0) {
        connection.reset();
      }
    }
  }
  // As an agent whose program is busy and idle all the time.
  [[noreturn]] void wake_up() {
    UniqueFd connection = connect_again(path_);
    (void)send_message(connection.get(), wire::bytes_of(wire::Hello{}));
    std::vector<u8> buffer(wire::kMaxMessage);
    const auto welcome = receive_message(connection.get(), buffer);
    for (;;) {
      if (!welcome || welcome->files.size() < 2) {
        ::pause();
      }
      signal_event(welcome->files[1].get());
      ++sent_;
    }
  }

  const Flood flood_;
  const std::string& path_;
  u64& sent_;
  const std::vector<std::vector<u8>> messages_;
  std::size_t next_ = 0;
  char answer_[65536];
};

// The daemon sees its effective user when it connects, and its real one when it asks who that is;
// the file system is looked at as root.
bool become_attacker() {
  const sched_param none{};
  ::sched_setscheduler(0, SCHED_IDLE, &none);
  if (::setgroups(0, nullptr) != 0 ||
      ::setresgid(Attack::kAttacker, Attack::kAttacker, Attack::kAttacker) != 0 ||
      ::setresuid(Attack::kAttacker, Attack::kAttacker, 0) != 0) {
    return false;
  }
  ::setfsuid(0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a change of user forgets it
  return true;
}

}  // namespace

std::span<const NamedFlood> floods() {
  static constexpr NamedFlood kAll[] = {
      {Flood::connections, "connections"},
      {Flood::status, "status requests"},
      {Flood::trace, "requests for the trace"},
      {Flood::suspends, "suspend requests"},
      {Flood::marks, "online marks"},
      {Flood::agents, "messages of agents"},
      {Flood::wake_ups, "wake-ups of an agent"},
      {Flood::garbage, "garbage"},
  };
  return kAll;
}

bool Attack::is_possible() { return ::geteuid() == 0; }

Result<Attack> Attack::start(Flood flood, const std::string& socket) {
  void* shared =
      ::mmap(nullptr, sizeof(u64), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    return Error{errno, "memory to share with an attacker", ""};
  }
  auto* sent = static_cast<u64*>(shared);
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (!become_attacker()) {
      ::_exit(1);
    }
    Attacker(flood, socket, *sent).run();
  }
  Attack attack(pid, sent);
  if (pid < 0) {
    return Error{errno, "fork an attacker", ""};
  }
  for (int i = 0; i < 5000 && attack.sent() == 0; ++i) {
    ::usleep(1000);
  }
  if (attack.sent() == 0) {
    return Error{ETIMEDOUT, "the attack does not begin", ""};
  }
  return attack;
}

Attack::Attack(Attack&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), sent_(std::exchange(other.sent_, nullptr)) {}

Attack::~Attack() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (sent_ != nullptr) {
    ::munmap(const_cast<u64*>(sent_), sizeof *sent_);
  }
}

u64 Attack::sent() const { return __atomic_load_n(sent_, __ATOMIC_RELAXED); }

}  // namespace gp::bench
