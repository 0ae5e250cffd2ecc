// Watches queues come and go. sysfs sends no notice of new directories, so somebody must look; the
// art is in not looking when there is nothing to see.
//
// - Nobody has /dev/kfd open: inotify on it wakes us when someone opens it. On the running kernel's
//   own device that is not enough: a container has a device node of its own, which is another file
//   to inotify. There the list of processes is read once a second as well.
// - A process that has the device open and that nobody speaks for: its queues are looked at ten
//   times a second.
// - A process that an agent or the debugger speaks for (covered()): not looked at. Its end wakes us
//   through a pidfd.
//
// A process is the pid with its start time: a pid used again is another process.
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include "discover/discover.h"
#include "discover/namespaces.h"
#include "discover/process_queues.h"

namespace gp::discover {
namespace {

constexpr long kMillisecond = 1'000'000;
constexpr long kNever = 0;
constexpr long kAtOnce = 1;
constexpr long kPollPeriod = 100 * kMillisecond;
constexpr long kContainerPeriod = 1000 * kMillisecond;
constexpr char kDevice[] = "/dev/kfd";

Error failed(const char* what) { return Error{errno, what, ""}; }

// Empties a descriptor that was opened O_NONBLOCK.
void drain(int fd) {
  alignas(inotify_event) char buffer[4096];
  while (::read(fd, buffer, sizeof buffer) > 0 || errno == EINTR) {
  }
}

class SystemWatch final : public Watch {
 public:
  SystemWatch(Os& os, Paths paths) : os_(os), paths_(std::move(paths)) {}

  Status start() {
    TRY(list_processes(os_, paths_.sysfs));
    epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
    timer_ = UniqueFd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!epoll_ || !timer_) {
      return failed("watch queues");
    }
    TRY(add(timer_.get(), kTimerTag));
    idle_period_ = kPollPeriod;  // without inotify there is no other way
    if (paths_.live) {
      pids_are_ours_ = sysfs_pids_are_ours(os_, paths_);
      TRY(watch_device());
    }
    return arm(kAtOnce);
  }

  int fd() const override { return epoll_.get(); }

  Result<std::vector<QueueEvent>> take_events() override {
    take_wakeups();
    std::vector<QueueEvent> events;
    TRY(scan(events));
    TRY(arm(needed_period()));
    return events;
  }

  void covered(const ProcessKey& process, bool is) override {
    if (is) {
      covered_.insert(process);
    } else {
      covered_.erase(process);
    }
    // The next look sets the period that is needed now.
    if (const auto armed = arm(kAtOnce); !armed) {
      arm_failure_ = armed.error();
    }
  }

 private:
  struct Known {
    ProcessKey key;
    u64 directory = 0;  // its inode
    UniqueFd pidfd;
    bool ended = false;  // the pidfd said so: the next look takes it out
    std::map<u32, QueueEvent> queues;
  };
  // Tags of descriptors in the epoll set; a pidfd has its pid.
  static constexpr u64 kTimerTag = ~u64{0}, kDeviceTag = ~u64{0} - 1;

  Status add(int fd, u64 tag) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = tag}};
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0
               ? ok()
               : Status(failed("add to the watch for queues"));
  }

  Status watch_device() {
    UniqueFd notify(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    // No descriptors or watches left, or no device node here: we look instead.
    if (!notify || ::inotify_add_watch(notify.get(), kDevice, IN_OPEN) < 0) {
      return ok();
    }
    TRY(add(notify.get(), kDeviceTag));
    device_ = std::move(notify);
    idle_period_ = is_kernels_sysfs(os_, paths_) ? kContainerPeriod : kNever;
    return ok();
  }

  Status arm(long period) {
    if (arm_failure_) {
      return *arm_failure_;
    }
    if (period == armed_period_ && period != kAtOnce) {
      return ok();
    }
    const timespec next{.tv_sec = period / 1'000'000'000, .tv_nsec = period % 1'000'000'000};
    const itimerspec times{.it_interval = period == kAtOnce ? timespec{} : next, .it_value = next};
    if (::timerfd_settime(timer_.get(), 0, &times, nullptr) != 0) {
      return failed("arm the timer of the watch for queues");
    }
    armed_period_ = period;
    return ok();
  }

  void take_wakeups() {
    epoll_event ready[16];
    int count;
    do {
      count = ::epoll_wait(epoll_.get(), ready, std::size(ready), 0);
      for (int i = 0; i < count; ++i) {
        if (ready[i].data.u64 == kTimerTag) {
          drain(timer_.get());
        } else if (ready[i].data.u64 == kDeviceTag) {
          drain(device_.get());
        } else if (const auto found = known_.find(static_cast<pid_t>(ready[i].data.u64));
                   found != known_.end()) {
          found->second.ended = true;
          found->second.pidfd.reset();  // leaves the epoll set; it would stay readable
        }
      }
    } while (count == static_cast<int>(std::size(ready)) || (count < 0 && errno == EINTR));
  }

  // Compares what is there with what is known.
  Status scan(std::vector<QueueEvent>& events) {
    const std::vector<pid_t> pids = TRY(list_processes(os_, paths_.sysfs));
    std::map<pid_t, Known> before = std::exchange(known_, {});
    forget_stale_directories(pids);
    for (const pid_t pid : pids) {
      if (stale_.contains(pid)) {
        continue;
      }
      const Result<ProcessKey> identity = identify(pid);
      auto node = before.extract(pid);
      if (!identity && identity.error().code != ESRCH) {
        // Nothing is known of it at the moment: what was known stays, and the next look tells.
        if (!node.empty()) {
          known_.insert(std::move(node));
        }
        continue;
      }
      const std::optional<ProcessKey> key = identity ? std::optional(*identity) : std::nullopt;
      if (!node.empty() && (node.mapped().key != key || node.mapped().ended)) {
        report_all_gone(node.mapped(), events);
        stale_[pid] = node.mapped().directory;
        forget_stale_directories(pids);  // it may be the next process's already
        node = {};
      }
      if (!key || stale_.contains(pid)) {
        stale_.try_emplace(pid, directory_inode(pid));
        continue;
      }
      Known known = node.empty() ? meet(*key) : std::move(node.mapped());
      if (!covered_.contains(*key)) {
        scan_queues(known, events);
      }
      known_.emplace(pid, std::move(known));
    }
    for (auto& [pid, gone] : before) {
      report_all_gone(gone, events);
    }
    return ok();
  }

  // A process that has ended stays in sysfs until the driver has cleaned up. Its directory must not
  // be taken for that of a process which gets its pid.
  void forget_stale_directories(const std::vector<pid_t>& pids) {
    std::erase_if(stale_, [&](const auto& entry) {
      const auto& [pid, inode] = entry;
      return !std::ranges::binary_search(pids, pid) || directory_inode(pid) != inode;
    });
  }
  u64 directory_inode(pid_t pid) {
    const auto status = os_.status(fmt::format("{}/proc/{}", paths_.sysfs, pid));
    return status ? status->inode : 0;
  }

  // ESRCH: it has ended; other errors: that cannot be said now.
  Result<ProcessKey> identify(pid_t pid) {
    if (!paths_.live || !pids_are_ours_) {
      return ProcessKey{pid, 0};
    }
    Result<ProcessKey> key = process_key(os_, paths_, pid);
    if (key || key.error().code != ESRCH) {
      return key;
    }
    if (!are_hidden_) {
      are_hidden_ = processes_are_hidden(os_, paths_);
    }
    return *are_hidden_ ? Result<ProcessKey>(ProcessKey{pid, 0}) : key;
  }

  Known meet(const ProcessKey& key) {
    Known known;
    known.key = key;
    known.directory = directory_inode(key.pid);
    if (!paths_.live || !pids_are_ours_) {
      return known;
    }
    known.pidfd = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, key.pid, 0)));
    // The pid may have been given to another process before the pidfd was made; and without one
    // only looking tells.
    const Result<ProcessKey> now = identify(key.pid);
    const bool is_its = known.pidfd && now && *now == key;
    if (!is_its || !add(known.pidfd.get(), static_cast<u64>(key.pid))) {
      known.pidfd.reset();
    }
    return known;
  }

  void scan_queues(Known& known, std::vector<QueueEvent>& events) {
    const auto ids = list_queue_ids(os_, paths_.sysfs, known.key.pid);
    std::map<u32, QueueEvent> before = std::exchange(known.queues, {});
    for (const u32 id : ids ? *ids : std::vector<u32>{}) {
      if (auto node = before.extract(id); !node.empty()) {
        known.queues.insert(std::move(node));
        continue;
      }
      if (const auto queue = read_queue(os_, paths_.sysfs, known.key.pid, id)) {
        const QueueEvent event{true, {known.key, id}, queue->gpu_id.value_or(0), queue->type};
        known.queues.emplace(id, event);
        events.push_back(event);
      }
    }
    report_gone(before, events);
  }

  static void report_gone(std::map<u32, QueueEvent>& queues, std::vector<QueueEvent>& events) {
    for (auto& [id, event] : queues) {
      event.appeared = false;
      events.push_back(event);
    }
  }

  void report_all_gone(Known& known, std::vector<QueueEvent>& events) {
    report_gone(known.queues, events);
    covered_.erase(known.key);
  }

  // Ourselves we need not watch: a tool that opens the device is not a reason to keep it awake.
  long needed_period() const {
    const pid_t self = paths_.live ? ::getpid() : 0;
    for (const auto& [pid, known] : known_) {
      if (pid != self && (!covered_.contains(known.key) || !known.pidfd)) {
        return kPollPeriod;
      }
    }
    return stale_.empty() ? idle_period_ : kPollPeriod;
  }

  Os& os_;
  const Paths paths_;
  UniqueFd epoll_, timer_, device_;
  bool pids_are_ours_ = true;
  std::optional<bool> are_hidden_;
  long idle_period_ = kNever;
  long armed_period_ = kNever;
  std::optional<Error> arm_failure_;
  std::set<ProcessKey> covered_;
  std::map<pid_t, Known> known_;
  std::map<pid_t, u64> stale_;  // directories of processes that have ended, with their inodes
};

}  // namespace

Result<std::unique_ptr<Watch>> Watch::create(Os& os, const Paths& paths) {
  auto watch = std::make_unique<SystemWatch>(os, paths);
  TRY(watch->start());
  return std::unique_ptr<Watch>(std::move(watch));
}

}  // namespace gp::discover
