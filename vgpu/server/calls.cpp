#include "server/calls.h"

#include <fcntl.h>
#include <linux/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "abi/kfd.h"
#include "base/log.h"
#include "base/socket.h"
#include "protocol/ioctl_files.h"
#include "server/report.h"
#include "server/text_file.h"

namespace vgpu::server {
namespace {

// A reply whose content is an open file, or an error.
Outcome answer_with(Call& call, Result<UniqueFd> file) {
  if (!file) {
    call.fail(file.error());
  } else {
    call.reply_fd = std::move(*file);
  }
  return Outcome::reply;
}

Outcome answer_with(Call& call, const Status& status) {
  if (!status) {
    call.fail(status.error());
  }
  return Outcome::reply;
}

Outcome attach(Call& call) {
  return call.services.processes.attach(*call.process, call.socket) ? Outcome::reply
                                                                    : Outcome::malformed;
}

Outcome open_kfd(Call& call) {
  // Without a control connection nobody would notice the process exec.
  const std::unique_lock held = call.services.processes.hold(*call.process);
  if (!held) {
    return Outcome::malformed;
  }
  return answer_with(call, call.services.driver.open_kfd(call.process->pid));
}

Outcome open_render(Call& call) {
  return answer_with(call,
                     call.services.driver.open_render(static_cast<u32>(call.request.argument)));
}

Outcome open_file(Call& call) {
  Result<std::string> text = call.services.driver.read_file(call.text());
  if (!text) {
    call.fail(text.error());
    return Outcome::reply;
  }
  return answer_with(call, make_text_file(*text));
}

// Each message is what one write(2) of the client said. The client learns of an error only from
// the log: write(2) on a socket cannot return the driver's errno.
void pass_on_writes(driver::Driver& driver, const std::string& path, int socket) {
  std::array<u8, wire::kMaxData> buffer;
  for (;;) {
    Result<Received> message = receive_message(socket, buffer);
    if (!message || message->size == 0) {
      return;
    }
    const char* text = reinterpret_cast<const char*>(buffer.data());
    const Status status = driver.write_file(path, {text, message->size});
    if (!status) {
      log_warning("write to {}: {}", path, status.error().message());
    }
  }
}

Outcome open_writer(Call& call) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    call.fail(Error{errno, "socketpair", ""});
    return Outcome::reply;
  }
  call.reply_fd.reset(ends[1]);
  call.services.spawn(UniqueFd(ends[0]),
                      [&driver = call.services.driver, path = std::string(call.text())](
                          int socket) { pass_on_writes(driver, path, socket); });
  return Outcome::reply;
}

// The server maps the file: it must not be possible to make it shorter under our feet (SIGBUS).
bool is_safe_to_map(const UniqueFd& file, const abi::AllocMemoryArgs& args) {
  struct stat status {};
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) && ::fstat(file.get(), &status) == 0 &&
         args.mmap_offset <= static_cast<u64>(status.st_size) &&
         args.size <= static_cast<u64>(status.st_size) - args.mmap_offset;
}

// True if a passed file goes with this command and is of the right kind.
bool accepts_file(const Call& call, std::span<const u8> args) {
  const u32 nr = _IOC_NR(call.request.argument);
  if (nr == abi::kfd_alloc_memory_of_gpu) {
    abi::AllocMemoryArgs alloc{};
    std::memcpy(&alloc, args.data(), sizeof alloc);
    return is_safe_to_map(call.passed_fd, alloc);
  }
  return protocol::file_of_ioctl(nr) == protocol::IoctlFile::in_request;
}

Outcome ioctl(Call& call) {
  const wire::Request& request = call.request;
  const u32 size = _IOC_SIZE(request.argument);
  if (request.argument >> 32 || size > wire::kMaxData || request.size != size) {
    return Outcome::malformed;
  }
  // The reply's data is the kernel's copy of the arguments: zero-filled beyond what came.
  std::memset(call.reply.data, 0, sizeof call.reply.data);
  std::memcpy(call.reply.data, request.data, size);
  if (call.passed_fd && !accepts_file(call, call.reply.data)) {
    return Outcome::malformed;
  }
  const Result<pid_t> tid = call.thread.find(call.process->pid, request.tid);
  if (!tid) {
    return Outcome::malformed;
  }
  call.thread.follow_priority(*tid);
  PeerMemory memory(call.process->pid);
  PeerFiles files(*tid);
  driver::Caller caller;
  caller.pid = call.process->pid;
  caller.tid = *tid;
  caller.memory = &memory;
  caller.files = &files;
  caller.passed_fd = std::move(call.passed_fd);
  call.reply.result =
      call.services.driver.ioctl(caller, {request.file_device, request.file_inode},
                                 static_cast<u32>(request.argument), std::span(call.reply.data));
  call.reply.size = size;
  call.reply_fd = std::move(caller.reply_fd);
  return Outcome::reply;
}

Outcome doorbell(Call& call) {
  if (!call.passed_fd) {
    return Outcome::malformed;
  }
  return answer_with(call, call.services.driver.attach_doorbell_userfaultfd(
                               call.process->pid, call.request.file_inode, call.request.argument,
                               std::move(call.passed_fd)));
}

Outcome stats(Call& call) {
  const driver::Stats now = call.services.driver.stats();
  return answer_with(call, make_text_file(stats_json(now, call.services.device)));
}

Outcome inject(Call& call) {
  const Status status = call.services.driver.inject(call.text());
  if (status) {
    log_info("fault injected: {}", call.text());
  }
  return answer_with(call, status);
}

Outcome stop(Call& call) {
  call.services.request_stop();
  return Outcome::reply;
}

Outcome ping(Call& call) {
  return answer_with(call, make_text_file(identity_json(call.services.device)));
}

struct Entry {
  wire::Kind kind;
  Handler handler;
};
// clang-format off
constexpr Entry kCalls[] = {
    {wire::kind_open_kfd,    open_kfd},
    {wire::kind_open_render, open_render},
    {wire::kind_open_file,   open_file},
    {wire::kind_open_writer, open_writer},
    {wire::kind_ioctl,       ioctl},
    {wire::kind_doorbell,    doorbell},
    {wire::kind_stats,       stats},
    {wire::kind_inject,      inject},
    {wire::kind_stop,        stop},
    {wire::kind_ping,        ping},
    {wire::kind_attach,      attach},
};
// clang-format on

}  // namespace

void Call::fail(const Error& error) {
  reply.result = -(error.code != 0 ? error.code : EIO);
  const std::string text = error.hint.empty() ? error.what : error.what + "\n" + error.hint;
  reply.size = static_cast<u32>(std::min<std::size_t>(text.size(), sizeof reply.data));
  std::memcpy(reply.data, text.data(), reply.size);
}

Handler handler_of(u32 kind) {
  const auto* found = std::find_if(std::begin(kCalls), std::end(kCalls),
                                   [&](const Entry& entry) { return entry.kind == kind; });
  return found == std::end(kCalls) ? nullptr : found->handler;
}

}  // namespace vgpu::server
