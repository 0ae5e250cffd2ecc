#include "agent/service.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>

#include "agent/identity.h"
#include "agent/thread.h"
#include "agent/watcher.h"
#include "base/short_slices.h"

namespace gp::agent {

constinit Service service;

namespace {

using mechanism::inside::monotonic_ns;

constexpr u64 kDefaultLeaseNs = 2'000'000'000;

u64 smaller(u64 a, u64 b) { return a < b ? a : b; }
u64 greater(u64 a, u64 b) { return a > b ? a : b; }

void close_fd(int& fd) {
  if (fd >= 0) {
    close(fd);
  }
  fd = -1;
}

void drain(int eventfd) {
  u64 count = 0;
  while (read(eventfd, &count, sizeof count) > 0) {
  }
}

}  // namespace

void Service::start(const kfd::Channel& channel) {
  if (running_) {
    return;
  }
  channel_ = channel;
  if (!link_.prepare() || !make_shared_page()) {
    return;
  }
  watcher.prepare(channel_, page_, wake_fd_);
  quit_.store(false);
  running_ = start_thread(&thread_, thread_main, this) == 0;
}

// Sealed: nobody can shrink it under the daemon's feet.
bool Service::make_shared_page() {
  page_fd_ = memfd_create("gpreempt-page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  kick_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (page_fd_ < 0 || wake_fd_ < 0 || kick_fd_ < 0 ||
      ftruncate(page_fd_, control::kPageBytes) != 0 ||
      fcntl(page_fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return false;
  }
  void* memory =
      mmap(nullptr, control::kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, page_fd_, 0);
  if (memory == MAP_FAILED) {
    return false;
  }
  page_ = new (memory) control::Page;
  page_->pid = static_cast<u32>(getpid());
  return true;
}

void Service::kick() const {
  const u64 one = 1;
  [[maybe_unused]] const ssize_t written = write(kick_fd_, &one, sizeof one);
}

void* Service::thread_main(void* self) {
  ask_for_short_slices();  // a stop waits for this thread
  static_cast<Service*>(self)->run();
  return nullptr;
}

void Service::run() {
  bool directory_changed = true;
  while (!quit_.load(std::memory_order_acquire)) {
    if (!link_.connected() && time_to_connect(directory_changed)) {
      connect();
    }
    if (welcomed_) {
      announce_queues();
    }
    enum { kKick, kDriver, kPeer, kCount };
    pollfd ready[kCount] = {
        {kick_fd_, POLLIN, 0},
        {stopper.event_fd(), POLLIN, 0},
        {link_.connected() ? link_.socket() : link_.watch_fd(), POLLIN, 0},
    };
    poll(ready, kCount, milliseconds_to_next());
    if (ready[kKick].revents != 0) {
      drain(kick_fd_);
    }
    // Commands first: somebody is waiting for them.
    const bool peer = ready[kPeer].revents != 0;
    directory_changed = peer && !link_.connected();
    if (directory_changed) {
      link_.drain_watch();
    } else if (peer) {
      read_messages();
    }
    if (ready[kDriver].revents != 0) {
      stopper.handle_events();
    }
    check_lease();
  }
}

bool Service::time_to_connect(bool directory_changed) const {
  return directory_changed || monotonic_ns() >= link_.retry_at_ns();
}

int Service::milliseconds_to_next() const {
  const u64 retry = link_.connected() ? Link::kNever : link_.retry_at_ns();
  const u64 next = smaller(retry, lease_ends_ns_ != 0 ? lease_ends_ns_ : Link::kNever);
  if (next == Link::kNever) {
    return -1;
  }
  const u64 now = monotonic_ns();
  return next <= now ? 0 : static_cast<int>((next - now) / 1'000'000 + 1);
}

// ---- the connection ----

bool Service::connect() {
  if (!link_.try_connect()) {
    return false;
  }
  page_->lease_deadline_ns.store(0, std::memory_order_relaxed);
  control::Hello hello;
  describe_process(hello);
  hello.abilities = stopper.abilities();
  if (gate.wanted()) {
    hello.abilities |= control::can_gate;
  }
  const int files[] = {page_fd_, wake_fd_};
  if (link_.send(hello.header, files, 2) < 0) {
    lose_daemon();
    return false;
  }
  return true;
}

// Whatever the reason: the system fails open.
void Service::lose_daemon() {
  watcher.watch(false);
  start_queues();
  gate.set({});
  link_.disconnect(welcomed_);
  welcomed_ = false;
  const Queues::Lock lock(queues);
  for (TrackedQueue& queue : queues) {
    queue.announced = false;
    if (queue.state == QueueState::gone) {
      queues.release(queue);
    }
  }
}

void Service::read_messages() {
  for (;;) {
    const int size = link_.receive(message_, sizeof message_);
    if (size == -EAGAIN || size == -EINTR) {
      return;
    }
    control::Header header;
    if (size > 0) {
      memcpy(&header, message_, sizeof header);
    }
    // A daemon that speaks another language than we do is none.
    if (size <= 0 || !dispatch(header)) {
      lose_daemon();
      return;
    }
  }
}

bool Service::dispatch(const control::Header& header) {
  switch (header.kind) {
    case control::Kind::welcome:
      if (header.size == sizeof(control::Welcome)) {
        on_welcome(*reinterpret_cast<const control::Welcome*>(message_));
        return true;
      }
      break;
    case control::Kind::stop:
    case control::Kind::start:
      if (header.size == sizeof(control::Command) && welcomed_) {
        const auto& command = *reinterpret_cast<const control::Command*>(message_);
        header.kind == control::Kind::stop ? on_stop(command) : on_start(command);
        return link_.connected();
      }
      break;
    case control::Kind::gate:
      if (header.size == sizeof(control::GateCommand) && welcomed_) {
        on_gate(*reinterpret_cast<const control::GateCommand*>(message_));
        return link_.connected();
      }
      break;
    default: break;
  }
  return false;
}

void Service::on_welcome(const control::Welcome& welcome) {
  welcomed_ = true;
  lease_ns_ = welcome.lease_ns != 0 ? welcome.lease_ns : kDefaultLeaseNs;
  // What takes long is done now; if it fails, the stop will say why. The other methods need
  // nothing.
  if (welcome.method == static_cast<u32>(control::Method::self_debug)) {
    stopper.make_ready(control::Method::self_debug);
  } else {
    stopper.stand_down();
  }
  watcher.watch(welcome.watch_completion != 0);
}

// Tells of queues that came or went. A queue must not be destroyed while we ask for its id, and
// the lock of the stopper comes before that of the queues: hence the copy.
void Service::announce_queues() {
  for (u32 i = 0; i < kMostTracked; i++) {
    TrackedQueue copy;
    {
      const Queues::Lock lock(queues);
      if (queues.begin() + i >= queues.end()) {
        return;
      }
      TrackedQueue& queue = queues.begin()[i];
      copy = queue;
      if (queue.state == QueueState::gone) {
        queues.release(queue);
      } else {
        queue.announced = true;
      }
    }
    const bool news = copy.state == QueueState::live
                          ? !copy.announced
                          : copy.state == QueueState::gone && copy.announced;
    if (news && !announce(copy)) {
      lose_daemon();
      return;
    }
  }
}

bool Service::announce(TrackedQueue& queue) {
  const u32 id = stopper.queue_id(queue.ring_base);
  if (queue.state == QueueState::live) {
    control::QueueCreated created;
    created.queue_id = id;
    created.gpu_id = queue.gpu_id;
    created.ring_base = queue.ring_base;
    created.ring_bytes = queue.ring_bytes;
    return link_.send(created.header) == 0;
  }
  control::QueueDestroyed destroyed;
  destroyed.queue_id = id;
  destroyed.ring_base = queue.ring_base;
  return link_.send(destroyed.header) == 0;
}

// ---- commands ----

void Service::on_stop(const control::Command& command) {
  const u64 received = monotonic_ns();
  if (command.method == control::Method::gate) {
    const StopOutcome outcome = set_gate({.open = false}, command.deadline_ns);
    answer(command.header.sequence, outcome, received);
    return;
  }
  arm_lease(command.deadline_ns);
  const StopOutcome outcome = stopper.stop(command.method, command.grace_1k_clocks, lease_ends_ns_);
  if (stopper.stopped()) {
    page_->stopped.store(1, std::memory_order_release);
  } else {
    lease_ends_ns_ = 0;
  }
  answer(command.header.sequence, outcome, received);
}

// A window of 0 packets is a stop, and a lease like any other.
StopOutcome Service::set_gate(const GateWindow& window, u64 deadline_ns) {
  StopOutcome outcome;
  if (!gate.wanted()) {
    outcome.error = -EOPNOTSUPP;
    return outcome;
  }
  outcome.driver_enter_ns = monotonic_ns();
  outcome.queues = gate.set(window);
  outcome.driver_leave_ns = monotonic_ns();
  gate_shut_ = !window.open && window.packets == 0;
  if (gate_shut_) {
    arm_lease(deadline_ns);
  } else if (!stopper.stopped()) {
    lease_ends_ns_ = 0;
  }
  page_->stopped.store(gate_shut_ || stopper.stopped() ? 1 : 0, std::memory_order_release);
  return outcome;
}

void Service::on_gate(const control::GateCommand& command) {
  const u64 received = monotonic_ns();
  const GateWindow window = {command.open != 0, command.window_packets, command.window_ns};
  answer(command.header.sequence, set_gate(window, received + lease_ns_), received);
}

void Service::on_start(const control::Command& command) {
  const u64 received = monotonic_ns();
  answer(command.header.sequence, start_queues(), received);
}

void Service::answer(u32 sequence, const StopOutcome& outcome, u64 received_ns) {
  control::Done done;
  done.header.sequence = sequence;
  done.error = outcome.error;
  done.queues = outcome.queues;
  done.received_ns = received_ns;
  done.driver_enter_ns = outcome.driver_enter_ns;
  done.driver_leave_ns = outcome.driver_leave_ns;
  if (link_.send(done.header) < 0) {
    lose_daemon();
  }
}

StopOutcome Service::start_queues() {
  if (gate_shut_) {
    gate_shut_ = false;
    gate.set({});
  }
  const StopOutcome outcome = stopper.start();
  if (outcome.error < 0) {
    lease_ends_ns_ = monotonic_ns() + lease_ns_;  // try again
    return outcome;
  }
  lease_ends_ns_ = 0;
  if (page_->stopped.exchange(0, std::memory_order_release) == 0) {
    return outcome;
  }
  // What the program wanted meanwhile, and what would have started its queues.
  const Queues::Lock lock(queues);
  for (TrackedQueue& queue : queues) {
    if (queue.state == QueueState::live && queue.priority_deferred) {
      queue.priority_deferred = false;
      runtime.set_priority(queue.queue, queue.wanted_priority);
    }
  }
  return outcome;
}

// ---- leases ----

// The daemon extends a lease by writing a later deadline into the page. However late it is, we look
// again after lease_ns_ at the latest, and then only a deadline that has changed counts.
void Service::arm_lease(u64 deadline_ns) {
  last_page_deadline_ = page_->lease_deadline_ns.load(std::memory_order_acquire);
  lease_ends_ns_ = smaller(greater(deadline_ns, last_page_deadline_), monotonic_ns() + lease_ns_);
}

void Service::check_lease() {
  if (lease_ends_ns_ == 0 || monotonic_ns() < lease_ends_ns_) {
    return;
  }
  const u64 page_deadline = page_->lease_deadline_ns.load(std::memory_order_acquire);
  if (page_deadline != last_page_deadline_ && page_deadline > monotonic_ns()) {
    arm_lease(page_deadline);
    return;
  }
  start_queues();
  page_->overdue_starts.fetch_add(1, std::memory_order_release);
  const u64 one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof one);
}

// ---- the end ----

void Service::stop(bool join) {
  if (!running_) {
    return;
  }
  quit_.store(true, std::memory_order_release);
  kick();
  if (!join) {
    return;
  }
  pthread_join(thread_, nullptr);
  watcher.stop();  // it writes to the page, and only our thread would have it start again
  running_ = false;
  welcomed_ = false;
  lease_ends_ns_ = 0;
  link_.close_all();
  munmap(page_, control::kPageBytes);
  page_ = nullptr;
  close_fd(page_fd_);
  close_fd(wake_fd_);
  close_fd(kick_fd_);
}

void Service::forget_in_child() {
  link_.close_all();
  close_fd(page_fd_);
  close_fd(wake_fd_);
  close_fd(kick_fd_);
  running_ = false;
}

}  // namespace gp::agent
