#include "mechanism/kept_attachment.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/log.h"
#include "base/unique_fd.h"
#include "mechanism/keeper_protocol.h"

namespace gp::mechanism {
namespace {

using keeper::Reply;
using keeper::Request;
using keeper::Verb;

// The driver gives up an unmap after 9 s (queue_preemption_timeout_ms).
constexpr int kCallPatienceMs = 12'000;
// A keeper that has not started the queues by then is killed, which starts them.
constexpr int kStartPatienceMs = 1'000;

UniqueFd pidfd_of(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

u64 nanoseconds(std::chrono::steady_clock::time_point time) {
  return static_cast<u64>(std::chrono::nanoseconds(time.time_since_epoch()).count());
}

bool wait_for(int fd, int milliseconds) {
  pollfd ready = {fd, POLLIN, 0};
  int result = 0;
  do {
    result = ::poll(&ready, 1, milliseconds);
  } while (result < 0 && errno == EINTR);
  return result == 1;
}

class KeptAttachment final : public Attachment {
 public:
  KeptAttachment(Mechanism mechanism, const ProcessKey& target, UniqueFd control)
      : mechanism_(mechanism), pid_(target.pid), control_(std::move(control)) {}
  KeptAttachment(const KeptAttachment&) = delete;
  KeptAttachment& operator=(const KeptAttachment&) = delete;
  ~KeptAttachment() override { let_go(); }

  Status open() {
    const Reply reply = TRY(call(Request{}, kCallPatienceMs));
    keeper_ = pidfd_of(reply.keeper);
    return keeper_ ? ok() : gone_error();
  }

  Mechanism mechanism() const override { return mechanism_; }

  Result<std::vector<KnownQueue>> queues() override {
    TRY(call(request(Verb::queues), kCallPatienceMs));
    return payload<KnownQueue>();
  }
  Result<std::vector<QueueReport>> stop(std::span<const u32> ids,
                                        const StopOptions& options) override {
    return stop_by(request(Verb::stop, ids), options);
  }
  Result<std::vector<QueueReport>> stop_all(const StopOptions& options) override {
    return stop_by(request(Verb::stop_all), options);
  }
  Result<std::vector<QueueReport>> start(std::span<const u32> ids) override {
    TRY(call_or_kill(request(Verb::start, ids)));
    return payload<QueueReport>();
  }
  Status start_all() override { return call_or_kill(request(Verb::start_all)); }
  Status set_deadline(std::chrono::steady_clock::time_point deadline) override {
    Request wanted = request(Verb::set_deadline);
    wanted.deadline_ns = nanoseconds(deadline);
    TRY(call(wanted, kStartPatienceMs));
    return ok();
  }
  Status detach() override {
    let_go();
    return ok();
  }
  int gone_fd() const override { return keeper_.get(); }
  DriverCall last_stop() const override { return last_stop_; }

 private:
  static Request request(Verb verb, std::span<const u32> ids = {}) {
    Request made;
    made.verb = verb;
    made.count = static_cast<u32>(std::min<std::size_t>(ids.size(), keeper::kMostQueues));
    std::copy_n(ids.begin(), made.count, made.ids);
    return made;
  }

  Result<std::vector<QueueReport>> stop_by(Request wanted, const StopOptions& options) {
    wanted.grace_1k_clocks = options.grace_1k_clocks.value_or(0);
    wanted.deadline_ns = options.deadline ? nanoseconds(*options.deadline) : 0;
    wanted.report_queues = options.report_queues ? 1 : 0;
    const auto reply = call(wanted, kCallPatienceMs);
    if (!reply) {
      if (reply.error().code == ETIMEDOUT) {
        kill();  // or it would stop the queues when nobody expects it
      }
      return reply.error();
    }
    last_stop_ = reply->stop;
    return payload<QueueReport>();
  }

  // Not ESRCH, which says that of the target.
  Error gone_error() const {
    return Error{ECONNRESET, fmt::format("the keeper of process {} has ended", pid_), ""};
  }

  // The reply; what follows it is in buffer_.
  Result<Reply> call(const Request& wanted, int patience_ms) {
    const std::size_t bytes = offsetof(Request, ids) + wanted.count * sizeof(u32);
    if (::send(control_.get(), &wanted, bytes, MSG_NOSIGNAL) < 0) {
      return gone_error();
    }
    if (!wait_for(control_.get(), patience_ms)) {
      return Error{ETIMEDOUT, fmt::format("the keeper of process {} does not answer", pid_), ""};
    }
    buffer_.resize(keeper::kMostReplyBytes);
    const ssize_t size = ::recv(control_.get(), buffer_.data(), buffer_.size(), 0);
    Reply reply;
    if (size < static_cast<ssize_t>(sizeof reply)) {
      return gone_error();
    }
    std::memcpy(&reply, buffer_.data(), sizeof reply);
    buffer_.resize(static_cast<std::size_t>(size));
    if (reply.error != 0) {
      return Error{reply.error, reply.what, reply.hint};
    }
    return reply;
  }

  // With the keeper's end the kernel starts the queues; of `criu`, its pause guard.
  Status call_or_kill(const Request& wanted) {
    const auto reply = call(wanted, kStartPatienceMs);
    if (reply || reply.error().code == ESRCH || reply.error().code == ECONNRESET) {
      return ok();
    }
    if (reply.error().code != ETIMEDOUT) {
      return reply.error();
    }
    log_warning("{}: it is killed, which starts the queues", reply.error().what);
    kill();
    buffer_.clear();
    return ok();
  }

  void kill() const {
    if (keeper_) {
      ::syscall(SYS_pidfd_send_signal, keeper_.get(), SIGKILL, nullptr, 0);
      wait_for(keeper_.get(), kStartPatienceMs);
    }
  }

  // The keeper starts everything when the socket closes.
  void let_go() {
    control_.reset();
    if (keeper_ && !wait_for(keeper_.get(), kStartPatienceMs)) {
      kill();
    }
  }

  template <class Entry>
  std::vector<Entry> payload() const {
    std::vector<Entry> entries;
    if (buffer_.size() >= sizeof(Reply)) {
      entries.resize((buffer_.size() - sizeof(Reply)) / sizeof(Entry));
      std::memcpy(entries.data(), buffer_.data() + sizeof(Reply), entries.size() * sizeof(Entry));
    }
    return entries;
  }

  const Mechanism mechanism_;
  const pid_t pid_;
  UniqueFd control_, keeper_;
  std::vector<char> buffer_;
  DriverCall last_stop_;
};

Error no_keeper(const Error& why) { return Error{ECHILD, why.what, why.hint}; }

}  // namespace

Result<std::unique_ptr<Attachment>> attach_kept(Mechanism mechanism, const ProcessKey& target) {
  const auto program = find_helper(keeper::kName);
  int ends[2];
  if (!program || ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return no_keeper(program ? Error{errno, "no socket for a keeper", ""} : program.error());
  }
  UniqueFd ours(ends[0]), theirs(ends[1]);
  const UniqueFd self = pidfd_of(::getpid());
  const int error =
      self ? start_helper(*program,
                          {keeper::kVersion, fmt::format("{}", target.pid),
                           fmt::format("{}", target.start_time), info_of(mechanism).name},
                          {theirs.get(), self.get()})
           : errno;
  theirs.reset();
  if (error != 0) {
    return no_keeper(Error{error, fmt::format("cannot start {}", *program), ""});
  }
  auto attachment = std::make_unique<KeptAttachment>(mechanism, target, std::move(ours));
  TRY(attachment->open());
  return std::unique_ptr<Attachment>(std::move(attachment));
}

}  // namespace gp::mechanism
