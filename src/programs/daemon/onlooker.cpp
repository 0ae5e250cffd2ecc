#include "daemon/onlooker.h"

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "base/log.h"
#include "os/os.h"

namespace gp::daemon {

// Outlives the loop with the readers, which learn from it that nobody waits any more.
struct Onlooker::Anchor {
  std::mutex mutex;
  Loop* loop;  // empty: it has ended

  void post(std::function<void()> work) {
    const std::lock_guard lock(mutex);
    if (loop != nullptr) {
      loop->post(std::move(work));
    }
  }
};

// Of one thread. The loop and the thread both have it: whichever is later deals with the result.
struct Onlooker::Reading {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Facts> facts;
  bool is_awaited = true;           // the loop waits
  std::function<void()> when_late;  // to be posted once `facts` is there
};

Onlooker::Facts Onlooker::read_files(pid_t pid) {
  return discover::read_process(system_os(), "/proc", pid, true);
}

Onlooker::Onlooker(Loop& loop, Read read)
    : loop_(loop), read_(std::move(read)), anchor_(std::make_shared<Anchor>()) {
  anchor_->loop = &loop;
}

Onlooker::~Onlooker() {
  const std::lock_guard lock(anchor_->mutex);
  anchor_->loop = nullptr;
}

std::shared_ptr<Onlooker::Reading> Onlooker::start(const Wish& wish, const Payer& payer) {
  auto reading = std::make_shared<Reading>();
  // Run by the loop, which has ended before us: we are there, and so is the reading, which is kept
  // by what is posted.
  reading->when_late = [this, done = wish.done, payer, late = reading.get()] {
    done(*late->facts);
    finished(payer);
  };
  try {
    std::thread([reading, anchor = anchor_, read = read_, pid = wish.pid] {
      Facts facts = read(pid);
      const std::lock_guard lock(reading->mutex);
      reading->facts = std::move(facts);
      if (reading->is_awaited) {
        reading->changed.notify_one();
      } else {
        anchor->post([reading] { reading->when_late(); });
      }
    }).detach();
  } catch (const std::system_error& error) {
    reading->facts = Error{EAGAIN, "start a thread", ""};
    log_debug("process {} is not looked at: {}", wish.pid, error.what());
  }
  return reading;
}

void Onlooker::look(pid_t pid, const Payer& payer, Patience patience, Done done) {
  const auto [entry, is_first] = waiting_.try_emplace(payer);
  if (!is_first) {
    if (entry->second.size() < kMostWaiting) {
      entry->second.push_back({pid, std::move(done)});
    }
    return;
  }
  const Wish wish{pid, std::move(done)};
  const auto reading = start(wish, payer);
  std::unique_lock lock(reading->mutex);
  if (patience == Patience::a_moment) {
    reading->changed.wait_for(lock, std::chrono::nanoseconds(kMomentNs),
                              [&] { return reading->facts.has_value(); });
  }
  reading->is_awaited = false;
  if (!reading->facts) {
    return;  // the loop is told
  }
  lock.unlock();
  wish.done(*reading->facts);
  finished(payer);
}

// The next of that user, who has had their moment.
void Onlooker::finished(const Payer& payer) {
  const auto entry = waiting_.find(payer);
  if (entry == waiting_.end()) {
    return;
  }
  if (entry->second.empty()) {
    waiting_.erase(entry);
    return;
  }
  const Wish next = std::move(entry->second.front());
  entry->second.pop_front();
  const auto reading = start(next, payer);
  const std::lock_guard lock(reading->mutex);
  reading->is_awaited = false;
  if (reading->facts) {
    loop_.post([reading] { reading->when_late(); });
  }
}

}  // namespace gp::daemon
