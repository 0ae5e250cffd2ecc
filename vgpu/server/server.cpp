#include "server/server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/log.h"
#include "base/socket.h"
#include "libc/short_slices.h"
#include "server/session.h"

namespace vgpu::server {
namespace {

// If we have not ended by then, a thread is stuck in a device that hangs. SIGALRM ends the process;
// the next server removes what is left.
constexpr unsigned kShutdownSeconds = 15;

}  // namespace

Result<std::unique_ptr<Server>> Server::create(driver::Driver& driver,
                                               const protocol::DeviceDescription& device,
                                               UniqueFd listener) {
  std::unique_ptr<Server> self(new Server(driver, std::move(listener)));
  self->stop_requested_.reset(::eventfd(0, EFD_CLOEXEC));
  if (!self->stop_requested_) {
    return Error{errno, "eventfd", ""};
  }
  self->processes_ = TRY(Processes::create([&driver](pid_t pid) { driver.process_exited(pid); }));
  const int stop = self->stop_requested_.get();
  self->services_.reset(
      new Services{driver, device, *self->processes_, [stop] { ::eventfd_write(stop, 1); },
                   [server = self.get()](UniqueFd socket, std::function<void(int)> body) {
                     server->spawn(std::move(socket), std::move(body));
                   }});
  return self;
}

Server::~Server() { close_all(); }

void Server::run(int stop_fd, int lifetime_fd) {
  pollfd events[] = {{listener_.get(), POLLIN, 0},
                     {stop_requested_.get(), POLLIN, 0},
                     {stop_fd, POLLIN, 0},
                     {lifetime_fd, POLLIN, 0}};  // poll ignores -1
  for (;;) {
    if (::poll(events, std::size(events), -1) < 0 && errno != EINTR) {
      log_error("poll: {}", std::system_category().message(errno));
      break;
    }
    if (events[1].revents || events[2].revents || events[3].revents) {
      break;
    }
    if (events[0].revents) {
      accept_one();
    }
  }
  log_info("stopping");
  close_all();
}

void Server::accept_one() {
  Result<UniqueFd> socket = accept_from(listener_.get());
  if (!socket) {
    // Out of descriptors: the client waits in the backlog until a connection has closed.
    log_error("{}", socket.error().message());
    if (socket.error().code == EMFILE || socket.error().code == ENFILE) {
      ::poll(nullptr, 0, 10);
    }
    return;
  }
  join_finished();
  spawn(std::move(*socket), [this](int fd) { serve_connection(*services_, fd); });
}

void Server::spawn(UniqueFd socket, std::function<void(int)> body) {
  std::lock_guard lock(mutex_);
  if (closing_) {
    return;
  }
  Thread& entry = threads_.emplace_back();
  entry.socket = std::move(socket);
  try {
    entry.thread = std::thread([this, &entry, body = std::move(body)] {
      gp::ask_for_short_slices();  // a program waits for this one, and the workers leave no CPU
                                   // free
      body(entry.socket.get());
      std::lock_guard done_lock(mutex_);
      entry.socket.reset();  // the peer sees the end now, not when the thread is joined
      entry.done = true;
    });
  } catch (const std::system_error& error) {
    log_error("connection refused: no thread: {}", error.what());
    threads_.pop_back();
  }
}

void Server::join_finished() {
  std::list<Thread> finished;
  {
    std::lock_guard lock(mutex_);
    for (auto it = threads_.begin(); it != threads_.end();) {
      const auto next = std::next(it);
      if (it->done) {
        finished.splice(finished.end(), threads_, it);
      }
      it = next;
    }
  }
  for (Thread& entry : finished) {
    entry.thread.join();
  }
}

void Server::close_all() {
  {
    std::lock_guard lock(mutex_);
    if (closing_) {
      return;
    }
    closing_ = true;
  }
  ::alarm(kShutdownSeconds);
  driver_.shut_down();
  {
    std::lock_guard lock(mutex_);
    for (Thread& entry : threads_) {
      if (entry.socket) {
        ::shutdown(entry.socket.get(), SHUT_RDWR);
      }
    }
  }
  for (Thread& entry : threads_) {  // nothing is added any more
    entry.thread.join();
  }
  threads_.clear();
  processes_.reset();  // its thread calls into the driver
}

}  // namespace vgpu::server
