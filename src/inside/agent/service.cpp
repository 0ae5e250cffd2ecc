#include "agent/service.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "agent/agent.h"
#include "agent/identity.h"
#include "agent/parts.h"
#include "agent/thread.h"
#include "agent/watcher.h"
#include "libc/clock.h"
#include "libc/eventfd.h"
#include "libc/real_time.h"
#include "libc/short_slices.h"

namespace gp::agent {

constinit Service services[kParts] = {Service(Part::rest), Service(Part::offline),
                                      Service(Part::normal), Service(Part::online)};

namespace {

constexpr u64 kDefaultLeaseNs = 2'000'000'000;
constexpr u32 kMostUnshared = 5;
constexpr u64 kLongestLeaseNs = 60'000'000'000;  // as of `lease` in the configuration

void close_fd(int& fd) {
  if (fd >= 0) {
    close(fd);
  }
  fd = -1;
}

}  // namespace

void Service::start(const kfd::Channel& channel) {
  if (!running_) {
    refusal_ = {};
    if (!make_page()) {
      snprintf(refusal_.text, sizeof refusal_.text, "no memory for its page (mmap and eventfd): %s",
               strerror(errno));
    }
    start_thread_of(channel);
  }
}

void Service::start_refused(const Refusal& refusal) {
  if (!running_) {
    refusal_ = refusal;
    start_thread_of({});
  }
}

// The program runs as it would without us, but somebody wanted us here.
void Service::tell_people() const {
  static std::atomic<bool> told{false};
  if (!told.exchange(true)) {
    dprintf(STDERR_FILENO, "gpreempt: agent refused: %s\n", refusal_.text);
  }
}

void Service::start_thread_of(const kfd::Channel& channel) {
  if (refused()) {
    tell_people();
  }
  channel_ = channel;
  if (kick_fd_ < 0) {
    kick_fd_ = make_event();
  }
  if (!link_.prepare() || kick_fd_ < 0) {
    return;
  }
  watcher_of(part_).prepare(channel_, page_, wake_fd_);
  quit_.store(false);
  running_ = start_thread(&thread_, thread_main, this) == 0;
}

bool Service::make_page() {
  close_fd(wake_fd_);
  wake_fd_ = make_event();
  void* memory =
      mmap(nullptr, wire::kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (wake_fd_ < 0 || memory == MAP_FAILED) {
    return false;
  }
  page_ = new (memory) wire::Page;
  page_->pid = static_cast<u32>(getpid());
  return true;
}

// The threads of the program use both all the time: address and number stay as they are, what is
// behind them is exchanged in one go. The watcher tells the new page of work under way.
bool Service::adopt(int page, int wake) const {
  const int seals = fcntl(page, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    errno = EINVAL;
    return false;
  }
  // First where it harms nobody: what fails in place may leave nothing there.
  void* trial = mmap(nullptr, wire::kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
  if (trial == MAP_FAILED) {
    return false;
  }
  munmap(trial, wire::kPageBytes);
  if (mmap(page_, wire::kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, page, 0) ==
      MAP_FAILED) {
    return false;
  }
  int copied = -1;
  while ((copied = dup3(wake, wake_fd_, O_CLOEXEC)) < 0 && (errno == EINTR || errno == EBUSY)) {
  }
  return copied >= 0;
}

void Service::kick() const { signal_event(kick_fd_); }

void* Service::thread_main(void* self) {
  ask_for_short_slices();  // a stop waits for this thread
  static_cast<Service*>(self)->run();
  return nullptr;
}

void Service::run() {
  bool directory_changed = true;
  while (!quit_.load(std::memory_order_acquire)) {
    if (!link_.connected() && may_connect() && time_to_connect(directory_changed)) {
      connect();
    }
    if (welcomed_) {
      announce_queues();
    }
    enum { kKick, kDriver, kPeer, kCount };
    pollfd ready[kCount] = {
        {kick_fd_.load(), POLLIN, 0},
        {part_ == Part::rest ? stopper.event_fd() : -1, POLLIN, 0},
        {link_.connected() ? link_.socket() : link_.watch_fd(), POLLIN, 0},
    };
    poll(ready, kCount, milliseconds_to_next());
    if (ready[kKick].revents != 0) {
      clear_event(kick_fd_);
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
      listen_to_driver();
    }
    check_lost();
    check_lease();
  }
}

// The daemon takes no part of a process whose agent it does not know.
bool Service::may_connect() const {
  return part_ == Part::rest || service_of(Part::rest).welcomed_;
}

bool Service::time_to_connect(bool directory_changed) {
  return retry_.exchange(false) || directory_changed || monotonic_ns() >= link_.retry_at_ns();
}

void Service::connect_again() {
  retry_ = true;
  kick();
}

int Service::milliseconds_to_next() const {
  const u64 retry = link_.connected() || !may_connect() ? Link::kNever : link_.retry_at_ns();
  const u64 next = std::min(retry, lease_ends_ns_ != 0 ? lease_ends_ns_ : Link::kNever);
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
  if ((refused() ? say_refused() : say_hello()) < 0) {
    lose_daemon();
    return false;
  }
  return true;
}

int Service::say_hello() {
  page_->lease_deadline_ns.store(0, std::memory_order_relaxed);
  wire::Hello hello;
  describe_process(hello);
  hello.part = index_of(part_);
  MechanismSet abilities = stopper.abilities();
  if (gate.wanted() && part_ == Part::rest) {
    abilities.add(Mechanism::gate);
  }
  hello.abilities = abilities.bits();
  has_daemons_page_ = false;
  return link_.send(hello.header);
}

// The daemon has nothing to answer; the connection stays so that the next daemon is told, too.
int Service::say_refused() {
  wire::Hello hello;
  describe_process(hello);
  wire::Refused refused;
  refused.pid = hello.pid;
  refused.work_class = hello.work_class;
  refused.priority = hello.priority;
  memcpy(refused.tag, hello.tag, sizeof refused.tag);
  memcpy(refused.job, hello.job, sizeof refused.job);
  static_assert(sizeof refused.reason == sizeof refusal_.text);
  memcpy(refused.reason, refusal_.text, sizeof refused.reason);
  return link_.send(refused.header);
}

// Whatever the reason: the system fails open.
void Service::lose_daemon() {
  watcher_of(part_).watch(false);
  be_prompt(false);
  if (!refused()) {
    start_queues();
    if (part_ == Part::rest) {
      gate.set({});
    }
  }
  link_.disconnect(welcomed_);
  welcomed_ = false;
  forget_announced();
  if (part_ != Part::rest) {
    part_taken(part_, false);
    stopper.stand_down(part_);  // the rest, of which its queues are now, says what it needs itself
  }
  agent::queues_changed();  // what has moved on to another part may be announced there now
}

void Service::read_messages() {
  for (;;) {
    int files[2];
    const int size = link_.receive(message_, sizeof message_, files);
    if (size == -EAGAIN || size == -EINTR) {
      return;
    }
    wire::Header header;
    if (size > 0) {
      memcpy(&header, message_, sizeof header);
    }
    if (!on_files(files)) {
      // Memory may be short for a moment only: another connection, another page.
      if (++unshared_ < kMostUnshared) {
        welcomed_ = false;
        lose_daemon();
      } else {
        refuse_shared_page();
      }
      return;
    }
    // A message we do not understand: this is not a daemon we can work with.
    if (size <= 0 || !dispatch(header)) {
      lose_daemon();
      return;
    }
  }
}

// False: they cannot be used.
bool Service::on_files(int (&files)[2]) {
  bool good = true;
  if (files[0] >= 0 && files[1] >= 0 && !has_daemons_page_ && !refused()) {
    good = has_daemons_page_ = adopt(files[0], files[1]);
    unshared_ = good ? 0 : unshared_;
  }
  const int error = errno;
  close_fd(files[0]);
  close_fd(files[1]);
  errno = error;
  return good;
}

// The daemon and people are told, and nothing else is done here any more.
void Service::refuse_shared_page() {
  const int error = errno;
  welcomed_ = true;  // it is a daemon, and is told at once
  lose_daemon();
  stopper.stand_down(part_);  // so that it can stop this process from outside
  snprintf(refusal_.text, sizeof refusal_.text, "no memory can be shared with gpreemptd (mmap): %s",
           strerror(error));
  tell_people();
}

bool Service::dispatch(const wire::Header& header) {
  if (refused()) {
    return false;  // nobody has anything to say to us
  }
  switch (header.kind) {
    case wire::Kind::welcome:
      if (header.size == sizeof(wire::Welcome) && has_daemons_page_) {
        on_welcome(*reinterpret_cast<const wire::Welcome*>(message_));
        return true;
      }
      break;
    case wire::Kind::stop:
    case wire::Kind::start:
      if (header.size == sizeof(wire::Command) && welcomed_) {
        const auto& command = *reinterpret_cast<const wire::Command*>(message_);
        header.kind == wire::Kind::stop ? on_stop(command) : on_start(command);
        return link_.connected();
      }
      break;
    case wire::Kind::gate:
      if (header.size == sizeof(wire::GateCommand) && welcomed_) {
        on_gate(*reinterpret_cast<const wire::GateCommand*>(message_));
        return link_.connected();
      }
      break;
    default: break;
  }
  return false;
}

void Service::on_welcome(const wire::Welcome& welcome) {
  const bool is_first = !welcomed_.exchange(true);
  lease_ns_ = welcome.lease_ns != 0 ? std::min(welcome.lease_ns, kLongestLeaseNs) : kDefaultLeaseNs;
  // What takes long is done now; if it fails, the stop will say why. The other
  // mechanisms need nothing.
  if (welcome.mechanism == static_cast<u32>(Mechanism::self_debug)) {
    stopper.make_ready(part_, Mechanism::self_debug);
  } else {
    stopper.stand_down(part_);
  }
  follow_session();
  watcher_of(part_).watch(welcome.watch_completion != 0);
  be_prompt(welcome.prompt != 0);
  if (part_ == Part::rest) {
    invite_parts();
  } else if (is_first) {
    part_taken(part_, true);
  }
}

// They could not be taken before, or were not wanted as the process was known before.
void Service::invite_parts() {
  for (Service& service : services) {
    if (service.part_ != Part::rest) {
      service.connect_again();
    }
  }
}

// The thread that listens to the driver may be asleep over another session, or over none.
void Service::follow_session() const {
  if (stopper.take_other_session()) {
    service_of(Part::rest).kick();
  }
}

void Service::be_prompt(bool wanted) {
  if (wanted != prompt_) {
    prompt_ = wanted;
    if (wanted) {
      real_time_ = enter_real_time();
    } else if (real_time_) {
      leave_real_time();
      real_time_ = false;
    }
  }
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
  watcher_of(part_).stop();  // it writes to the page, and only our thread would have it start again
  running_ = false;
  welcomed_ = false;
  prompt_ = real_time_ = false;  // the thread was, and the next one is another
  lease_ends_ns_ = 0;
  link_.close_all();
  if (page_ != nullptr) {
    munmap(page_, wire::kPageBytes);
    page_ = nullptr;
  }
  close_fd(wake_fd_);
}

void Service::close_kick() {
  int fd = kick_fd_.exchange(-1);
  close_fd(fd);
}

void Service::forget_in_child() {
  link_.close_all();
  close_fd(wake_fd_);
  close_kick();
  running_ = false;
}

}  // namespace gp::agent
