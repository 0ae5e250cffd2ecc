#include "daemon/discovery.h"

#include <poll.h>

#include <cerrno>
#include <utility>

#include "base/log.h"
#include "libc/eventfd.h"
#include "os/os.h"

namespace gp::daemon {
namespace {
constexpr u32 kMostLooks = 8;  // at a process that cannot be read, for a reason that may pass
}

Result<std::unique_ptr<Discovery>> Discovery::start(Loop& loop,
                                                    const discover::ClassConfig& classes,
                                                    Handlers handlers) {
  std::unique_ptr<Discovery> discovery(new Discovery(loop, classes, std::move(handlers)));
  discovery->watch_ = TRY(discover::Watch::create(system_os(), {}));
  const auto snapshot = TRY(discover::take_snapshot(system_os(), {}, classes, {.debugfs = false}));
  discovery->handlers_.on_nodes(snapshot.nodes);
  discovery->wake_.reset(make_event());
  if (!discovery->wake_) {
    return Error{errno, "eventfd", ""};
  }
  Discovery* self = discovery.get();
  discovery->thread_ = std::thread([self] { self->run(); });
  return discovery;
}

Discovery::~Discovery() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Discovery::wake() { signal_event(wake_.get()); }

void Discovery::covered(const ProcessKey& key, bool is) {
  {
    const std::lock_guard lock(mutex_);
    covered_.emplace_back(key, is);
  }
  wake();
}

void Discovery::set_classes(const discover::ClassConfig& classes) {
  {
    const std::lock_guard lock(mutex_);
    classes_ = classes;
    look_at_all_ = true;
  }
  wake();
}

void Discovery::run() {
  for (;;) {
    pollfd ready[] = {{watch_->fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    ::poll(ready, 2, -1);
    clear_event(wake_.get());
    {
      const std::lock_guard lock(mutex_);
      if (ending_) {
        return;
      }
    }
    look();
  }
}

void Discovery::take_wishes(std::set<ProcessKey>& changed) {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, is] : covered_) {
    watch_->covered(key, is);
  }
  covered_.clear();
  if (look_at_all_) {
    for (const auto& [key, queues] : known_) {
      changed.insert(key);
    }
  }
  look_at_all_ = false;
}

void Discovery::look() {
  std::set<ProcessKey> changed = std::exchange(look_again_, {}), appeared;
  take_wishes(changed);
  const auto events = watch_->take_events();
  if (!events) {
    log_warning("cannot look for queues: {}", events.error().message());
    return;
  }
  for (const discover::QueueEvent& event : *events) {
    const ProcessKey& key = event.key.process;
    changed.insert(key);
    if (event.appeared && event.type == discover::QueueType::compute) {
      known_[key][event.key.queue_id] = event.gpu_id;
      appeared.insert(key);
    } else if (!event.appeared) {
      known_[key].erase(event.key.queue_id);
    }
  }
  if (!changed.empty()) {
    tell(changed, appeared);
  }
}

void Discovery::tell(const std::set<ProcessKey>& changed, const std::set<ProcessKey>& appeared) {
  discover::ClassConfig classes;
  {
    const std::lock_guard lock(mutex_);
    classes = classes_;
  }
  const auto snapshot = discover::take_snapshot(system_os(), {}, classes, {.debugfs = false});
  for (const ProcessKey& key : changed) {
    SeenProcess seen;
    seen.process.key = key;
    seen.appeared = appeared.contains(key);
    for (const auto& [queue_id, gpu_id] : known_[key]) {
      ++seen.queues[gpu_id];
    }
    const auto* found = snapshot ? discover::find_process(*snapshot, key.pid) : nullptr;
    if (seen.queues.empty()) {
      known_.erase(key);
    } else if (found != nullptr && found->key == key && found->pid_is_ours) {
      seen.process = *found;
    } else {
      // It has ended meanwhile, or its pid is not ours to name. Or it could not be read just now,
      // and nobody would look at it again.
      if (found == nullptr && ++unread_[key] < kMostLooks) {
        look_again_.insert(key);
      }
      continue;
    }
    unread_.erase(key);
    loop_.post([this, seen = std::move(seen)] { handlers_.on_process(seen); });
  }
}

}  // namespace gp::daemon
