#include "daemon/ring_watch.h"

#include <poll.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/log.h"
#include "daemon/scheduling.h"
#include "discover/rings.h"
#include "mechanism/target_process.h"
#include "os/os.h"

namespace gp::daemon {

using sched::Activity;
using sched::ProcessId;

namespace {

constexpr std::chrono::milliseconds kFarewell{100};

bool has_ended(const UniqueFd& pidfd) {
  pollfd ready{pidfd.get(), POLLIN, 0};
  return ::poll(&ready, 1, 0) != 0;
}

void sleep_until(u64 at_ns) {
  timespec when{};
  when.tv_sec = static_cast<time_t>(at_ns / 1'000'000'000);
  when.tv_nsec = static_cast<long>(at_ns % 1'000'000'000);
  ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
}

}  // namespace

RingWatch::Sources RingWatch::of_this_machine() {
  return {[](pid_t pid) { return discover::find_rings(system_os(), {}, pid); }, read_memory};
}

// Lives for as long as its thread, which may be longer than the watch: it hangs where its process
// has it hang. The lock is never held while anything of the process is read.
class RingWatch::Reader : public std::enable_shared_from_this<Reader> {
 public:
  Reader(Loop& loop, const std::shared_ptr<Handlers>& handlers, Sources sources)
      : loop_(&loop), handlers_(handlers), sources_(std::move(sources)) {}

  // ---- the loop's side ----
  // False: its thread has ended, and another reader is needed.
  bool set_targets(const std::vector<Target>& targets, const Pace& pace) {
    const std::lock_guard lock(mutex_);
    std::map<ProcessId, Wish> wanted;
    for (const Target& target : targets) {
      const auto known = wanted_.find(target.id);
      wanted[target.id] = known != wanted_.end() ? known->second : Wish{target, next_version_++};
    }
    wanted_ = std::move(wanted);
    pace_ = pace;
    std::erase_if(known_, [this](const auto& entry) { return !wanted_.contains(entry.first); });
    return !has_ended_;
  }
  void queues_changed(ProcessId id) {
    const std::lock_guard lock(mutex_);
    if (const auto found = wanted_.find(id); found != wanted_.end()) {
      found->second.version = next_version_++;
    }
  }
  std::optional<Activity> activity(ProcessId id) const {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(id);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }
  Status start() {
    try {
      std::thread([self = shared_from_this()] { self->run(); }).detach();
    } catch (const std::system_error& error) {
      has_ended_ = true;
      return Error{error.code().value(), "start a thread", ""};
    }
    return ok();
  }
  // It may use the loop no more. Waits for it unless it hangs.
  void leave() {
    std::unique_lock lock(mutex_);
    loop_ = nullptr;
    wanted_.clear();
    ended_.wait_for(lock, kFarewell, [this] { return has_ended_; });
  }

 private:
  struct Wish {
    Target target;
    u64 version = 0;  // another one: look for its rings again
  };
  // The thread's.
  struct Watched {
    u64 version = 0;
    UniqueFd pidfd;
    std::optional<RingReader> reader;  // empty: it cannot be read
    std::optional<bool> busy;          // as told last
    u64 moved_ns = 0;                  // when a packet was seen last
  };

  void run() {
    ::prctl(PR_SET_NAME, "rings");
    std::map<ProcessId, Watched> watched;
    u64 next_ns = monotonic_ns();
    while (const auto pace = follow_wishes(watched)) {
      schedule_this_thread(pace->real_time);
      for (auto& [id, each] : watched) {
        look(id, each);
      }
      const u64 now = monotonic_ns();
      const bool slow = std::ranges::all_of(watched, [&](const auto& entry) {
        const Watched& each = entry.second;
        return each.busy.value_or(false) || now - each.moved_ns >= kQuietNs;
      });
      const u64 interval = pace->interval_ns * (slow ? kSlow : 1);
      next_ns = next_ns + interval > now ? next_ns + interval : now + interval;
      sleep_until(next_ns);
    }
  }

  // Empty: there is nothing to read any more.
  std::optional<Pace> follow_wishes(std::map<ProcessId, Watched>& watched) {
    std::vector<Wish> fresh;
    Pace pace;
    {
      const std::lock_guard lock(mutex_);
      if (wanted_.empty()) {
        has_ended_ = true;
        ended_.notify_all();
        return std::nullopt;
      }
      pace = pace_;
      std::erase_if(watched, [this](const auto& each) { return !wanted_.contains(each.first); });
      for (const auto& [id, wish] : wanted_) {
        const auto known = watched.find(id);
        if (known == watched.end() || known->second.version != wish.version) {
          fresh.push_back(wish);
        }
      }
    }
    for (const Wish& wish : fresh) {
      find(wish, watched[wish.target.id]);
    }
    return pace;
  }

  void find(const Wish& wish, Watched& watched) {
    watched.version = wish.version;
    watched.reader.reset();
    auto pidfd = mechanism::open_target(wish.target.key);
    if (!pidfd) {
      lose(wish.target.id, watched, pidfd.error());
      return;
    }
    watched.pidfd = std::move(*pidfd);
    const auto rings = sources_.find(wish.target.key.pid);
    if (!rings) {
      lose(wish.target.id, watched, rings.error());
      return;
    }
    watched.reader.emplace(wish.target.key.pid, *rings, sources_.read);
  }

  void look(ProcessId id, Watched& watched) {
    if (!watched.reader) {
      return;
    }
    const auto sight = watched.reader->look();
    if (!sight) {
      lose(id, watched, sight.error());
      return;
    }
    const u64 now = monotonic_ns();
    watched.moved_ns = sight->moved ? now : watched.moved_ns;
    const bool is_news = watched.busy != sight->busy;
    // What was read is its own if it lives still: only then is its pid not another's.
    if ((!is_news && !sight->moved) || has_ended(watched.pidfd)) {
      return;
    }
    watched.busy = sight->busy;
    const std::lock_guard lock(mutex_);
    if (!wanted_.contains(id)) {
      return;
    }
    Activity& activity = known_[id];
    activity.busy = sight->busy;
    activity.completed = sight->read;
    if (is_news) {
      (sight->busy ? activity.busy_since_ns : activity.idle_since_ns) = now;
      post([id](const Handlers& handlers) { handlers.on_change(id); });
    }
  }

  void lose(ProcessId id, Watched& watched, const Error& why) {
    watched.reader.reset();
    watched.busy.reset();
    const std::lock_guard lock(mutex_);
    known_.erase(id);
    if (wanted_.contains(id)) {
      post([id, text = why.message()](const Handlers& handlers) { handlers.on_lost(id, text); });
    }
  }

  // Under the lock.
  template <class Call>
  void post(Call call) {
    if (loop_ != nullptr) {
      loop_->post([handlers = handlers_, call = std::move(call)] {
        if (const auto alive = handlers.lock()) {
          call(*alive);
        }
      });
    }
  }

  mutable std::mutex mutex_;  // of what follows, up to the blank line
  Loop* loop_;                // empty: it is used no more
  std::map<ProcessId, Wish> wanted_;
  std::map<ProcessId, Activity> known_;
  Pace pace_;
  u64 next_version_ = 1;
  bool has_ended_ = false;
  std::condition_variable ended_;

  const std::weak_ptr<Handlers> handlers_;
  const Sources sources_;
};

RingWatch::RingWatch(Loop& loop, Handlers handlers, Sources sources)
    : loop_(loop),
      handlers_(std::make_shared<Handlers>(std::move(handlers))),
      sources_(std::move(sources)) {}

RingWatch::~RingWatch() {
  for (const auto& [payer, reader] : readers_) {
    reader->leave();
  }
}

void RingWatch::watch(const std::vector<Target>& targets, const Pace& pace) {
  std::map<Payer, std::vector<Target>> by_payer;
  auto dropped = std::exchange(reader_of_, {});
  for (const Target& target : targets) {
    by_payer[target.payer].push_back(target);
    dropped.erase(target.id);
  }
  // A reader that has nothing to read ends; one that hangs is not replaced.
  std::erase_if(readers_, [&](const auto& entry) {
    return !by_payer.contains(entry.first) && !entry.second->set_targets({}, pace);
  });
  for (const auto& [payer, wanted] : by_payer) {
    std::shared_ptr<Reader>& reader = readers_[payer];
    if (reader == nullptr || !reader->set_targets(wanted, pace)) {
      reader = std::make_shared<Reader>(loop_, handlers_, sources_);
      reader->set_targets(wanted, pace);
      if (const Status started = reader->start(); !started) {
        log_warning("online processes without an agent are not watched: {}",
                    started.error().message());
      }
    }
    for (const Target& target : wanted) {
      reader_of_[target.id] = reader;
    }
  }
  for (const auto& [id, reader] : dropped) {
    handlers_->on_lost(id, "");
  }
}

void RingWatch::queues_changed(ProcessId id) {
  if (const auto found = reader_of_.find(id); found != reader_of_.end()) {
    found->second->queues_changed(id);
  }
}

std::optional<Activity> RingWatch::activity(ProcessId id) const {
  const auto found = reader_of_.find(id);
  return found == reader_of_.end() ? std::nullopt : found->second->activity(id);
}

}  // namespace gp::daemon
