#include "daemon/loop.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "libc/eventfd.h"

namespace gp::daemon {

Result<std::unique_ptr<Loop>> Loop::create() {
  auto loop = std::make_unique<Loop>();
  loop->epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  loop->timer_.reset(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  loop->posted_signal_.reset(make_event());
  if (!loop->epoll_ || !loop->timer_ || !loop->posted_signal_) {
    return Error{errno, "cannot make the event loop", ""};
  }
  Loop* self = loop.get();
  TRY(loop->add(self->timer_.get(), EPOLLIN, [self](u32) {
    clear_event(self->timer_.get());
    self->timer_at_ns_.reset();
  }));
  TRY(loop->add(self->posted_signal_.get(), EPOLLIN, [self](u32) {
    clear_event(self->posted_signal_.get());
    self->run_posted();
  }));
  return loop;
}

Result<Loop::Token> Loop::add(int fd, u32 events, Handler handler, Manner manner) {
  const Token token = next_++;
  epoll_event event{};
  event.events = events;
  event.data.u64 = token;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return Error{errno, "cannot wait for a descriptor", ""};
  }
  sources_[token] = std::make_shared<Source>(Source{fd, std::move(handler), manner});
  return token;
}

void Loop::change(Token token, u32 events) {
  const auto found = sources_.find(token);
  if (found != sources_.end()) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = token;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, found->second->fd, &event);
  }
}

void Loop::remove(Token token) {
  const auto found = sources_.find(token);
  if (found != sources_.end()) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second->fd, nullptr);
    sources_.erase(found);
  }
}

void Loop::set_timer(std::optional<u64> at_ns) {
  if (!at_ns || (timer_at_ns_ && *timer_at_ns_ <= *at_ns)) {
    return;
  }
  timer_at_ns_ = at_ns;
  itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(*at_ns / 1'000'000'000);
  when.it_value.tv_nsec = static_cast<long>(*at_ns % 1'000'000'000);
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void Loop::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(work));
  }
  signal_event(posted_signal_.get());
}

void Loop::run_posted() {
  std::vector<std::function<void()>> work;
  {
    const std::lock_guard lock(mutex_);
    work.swap(posted_);
  }
  for (const auto& each : work) {
    each();
  }
}

Status Loop::run_once() {
  std::array<epoll_event, 64> events{};
  const int patience = waiting_.empty() ? -1 : 0;
  const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), patience);
  if (count < 0 && errno != EINTR) {
    return Error{errno, "epoll_wait", ""};
  }
  for (int i = 0; i < count; ++i) {
    const Token token = events[i].data.u64;  // a copy: the structure is packed
    const auto found = sources_.find(token);
    if (found == sources_.end()) {
      continue;
    }
    const std::shared_ptr<Source> source = found->second;  // it may remove itself
    if (source->manner == Manner::prompt) {
      source->handler(events[i].events);
      continue;
    }
    if (source->waiting_events == 0) {
      waiting_.push_back(found->first);
    }
    source->waiting_events |= events[i].events;
  }
  run_patient();
  return ok();
}

// At least one, so that all get their turn some time.
void Loop::run_patient() {
  const u64 end_ns = waiting_.empty() ? 0 : monotonic_ns() + kSliceNs;
  while (!waiting_.empty()) {
    const auto found = sources_.find(waiting_.front());
    waiting_.pop_front();
    if (found == sources_.end()) {
      continue;
    }
    const std::shared_ptr<Source> source = found->second;
    source->handler(std::exchange(source->waiting_events, 0));
    if (monotonic_ns() >= end_ns) {
      return;
    }
  }
}

}  // namespace gp::daemon
