// gpreempt-keeper VERSION PID START MECHANISM: has one process stopped for a controller, and starts
// it again when the controller goes, or stands still past the deadline that it has set.
//
// The debug session and the ptrace link of `debugger`, and the pause of `criu`, are this process's:
// its end, however it comes about, ends them (docs/leases.md). A controller whose keeper stands
// still kills it. So each of the two outlives a standstill of the other, and a program that uses
// the library is never killed for being stopped.
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "libc/clock.h"
#include "mechanism/keeper_protocol.h"
#include "pause_guard/own_session.h"

namespace gp::mechanism::keeper {
namespace {

constexpr u64 kMs = 1'000'000;
constexpr u64 kGraceNs = 200 * kMs;  // the controller goes first

struct Kept {
  std::unique_ptr<Attachment> attachment;
  u64 deadline_ns = 0;   // 0: nothing is stopped
  bool overdue = false;  // started by us since the last stop
};

void send_reply(const Reply& reply, const void* entries, std::size_t bytes) {
  iovec parts[] = {{const_cast<Reply*>(&reply), sizeof reply}, {const_cast<void*>(entries), bytes}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  ::sendmsg(kControlFd, &message, MSG_NOSIGNAL);  // one who has gone is seen by the loop
}

void send_error(const Error& error) {
  Reply reply;
  reply.error = error.code;
  put_text(reply.what, error.what);
  put_text(reply.hint, error.hint);
  send_reply(reply, nullptr, 0);
}

template <class Entry>
void send_answer(const Kept& kept, const Result<std::vector<Entry>>& result) {
  if (!result) {
    send_error(result.error());
    return;
  }
  Reply reply;
  reply.keeper = ::getpid();
  reply.count = static_cast<u32>(result->size());
  reply.stop = kept.attachment->last_stop();
  send_reply(reply, result->data(), result->size() * sizeof(Entry));
}

void send_answer(const Kept& kept, const Status& status) {
  send_answer(kept, status ? Result<std::vector<QueueReport>>(std::vector<QueueReport>{})
                           : Result<std::vector<QueueReport>>(status.error()));
}

StopOptions options_of(const Request& request) {
  StopOptions options;
  if (request.grace_1k_clocks != 0) {
    options.grace_1k_clocks = request.grace_1k_clocks;
  }
  options.report_queues = request.report_queues != 0;
  return options;
}

// The deadline is there before the stop: whatever happens next, the stop ends.
void stop(Kept& kept, const Request& request, std::span<const u32> ids) {
  kept.deadline_ns = std::max(kept.deadline_ns, request.deadline_ns);
  kept.overdue = false;
  send_answer(kept, request.verb == Verb::stop ? kept.attachment->stop(ids, options_of(request))
                                               : kept.attachment->stop_all(options_of(request)));
}

// To start what runs would disturb the whole GPU: the deadline ends with the last stop.
void start(Kept& kept, std::span<const u32> ids) {
  const auto started = kept.attachment->start(ids);
  const auto queues = kept.attachment->queues();
  const bool none_stopped =
      queues && std::none_of(queues->begin(), queues->end(),
                             [](const KnownQueue& queue) { return queue.stopped; });
  kept.deadline_ns = none_stopped ? 0 : kept.deadline_ns;
  send_answer(kept, started);
}

void start_all(Kept& kept) {
  const Status started = kept.attachment->start_all();
  kept.deadline_ns = started ? 0 : kept.deadline_ns;
  send_answer(kept, started);
}

void set_deadline(Kept& kept, const Request& request) {
  if (kept.overdue) {
    send_error({ETIMEDOUT, "the deadline has passed: the queues run", ""});
    return;
  }
  kept.deadline_ns = kept.deadline_ns != 0 ? request.deadline_ns : 0;
  send_answer(kept, ok());
}

void serve(Kept& kept, const Request& request) {
  const std::span<const u32> ids(request.ids, std::min(request.count, kMostQueues));
  switch (request.verb) {
    case Verb::attach: send_answer(kept, ok()); break;
    case Verb::queues: send_answer(kept, kept.attachment->queues()); break;
    case Verb::stop:
    case Verb::stop_all: stop(kept, request, ids); break;
    case Verb::start: start(kept, ids); break;
    case Verb::start_all: start_all(kept); break;
    case Verb::set_deadline: set_deadline(kept, request); break;
  }
}

// Whether the controller is still there.
bool serve_next(Kept& kept) {
  Request request;
  const ssize_t size = ::recv(kControlFd, &request, sizeof request, MSG_DONTWAIT);
  if (size < 0) {
    return errno == EAGAIN || errno == EINTR;
  }
  if (size < static_cast<ssize_t>(offsetof(Request, ids))) {
    return false;
  }
  serve(kept, request);
  return true;
}

int milliseconds_to(u64 deadline_ns) {
  if (deadline_ns == 0) {
    return -1;
  }
  const u64 now = monotonic_ns(), act = deadline_ns + kGraceNs;
  return act <= now ? 0 : static_cast<int>(std::min<u64>((act - now) / kMs + 1, 3'600'000));
}

// Until the controller or the target has gone.
void keep(Kept& kept) {
  for (;;) {
    pollfd fds[] = {{kControlFd, POLLIN, 0},
                    {kControllerFd, POLLIN, 0},
                    {kept.attachment->gone_fd(), POLLIN, 0}};
    ::poll(fds, 3, milliseconds_to(kept.deadline_ns));
    if (fds[1].revents != 0 || fds[2].revents != 0 || (fds[0].revents != 0 && !serve_next(kept))) {
      return;
    }
    if (kept.deadline_ns != 0 && monotonic_ns() >= kept.deadline_ns + kGraceNs) {
      kept.overdue = true;
      kept.deadline_ns = 0;
      if (!kept.attachment->start_all()) {
        return;  // our end starts them
      }
    }
  }
}

int run(const ProcessKey& target, Mechanism mechanism) {
  auto attachment = attach(mechanism, target);
  Request first;
  if (::recv(kControlFd, &first, sizeof first, 0) <= 0) {
    return 0;  // the controller has gone, and with us what we have attached to is let go of
  }
  if (!attachment) {
    send_error(attachment.error());
    return 1;
  }
  Kept kept;
  kept.attachment = std::move(*attachment);
  serve(kept, first);
  keep(kept);
  return kept.attachment->detach() ? 0 : 1;
}

}  // namespace
}  // namespace gp::mechanism::keeper

int main(int argc, char** argv) {
  using namespace gp;
  using namespace gp::mechanism;
  const MechanismInfo* mechanism = argc == 5 ? find_mechanism(argv[4]) : nullptr;
  if (mechanism == nullptr || std::string_view(argv[1]) != keeper::kVersion) {
    std::fprintf(stderr,
                 "usage: gpreempt-keeper %s PID START MECHANISM (started by gpreempt, "
                 "not by hand)\n",
                 keeper::kVersion);
    return 2;
  }
  ::prctl(PR_SET_NAME, keeper::kName);
  pause_guard::leave_controller(keeper::kControlFd + keeper::kDescriptors);
  return keeper::run({std::atoi(argv[2]), std::strtoull(argv[3], nullptr, 10)},
                     mechanism->mechanism);
}
