#include "device/doorbell.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "device/clock.h"
#include "libc/short_slices.h"

namespace vgpu::device {
namespace {

// The fallback poller's pace: quick after a ring, then slower and slower. At the slowest it costs
// well below 1 % of a core.
constexpr int kFirstPollUs = 50;
constexpr int kLongestPollUs = 4000;
// A thread whose store has opened a page and that has not stored by then is not waited for: it may
// be stopped, or dead.
constexpr u64 kLongestStoreNs = 1'000'000'000;

struct Watched {
  std::shared_ptr<DoorbellPage> page;
  UniqueFd uffd;  // none: polled
  u64 client_va = 0;
  // Slot values at the last look: if polled, of the watcher; else when a store opened the page.
  std::vector<u64> seen;
  u64 store_until_ns = 0;  // a store has opened the page; 0: it has landed, or none has
};

bool any_slot_changed(const Watched& watched) {
  for (u32 i = 0; i < watched.seen.size(); ++i) {
    if (watched.page->slot(i).load(std::memory_order_relaxed) != watched.seen[i]) {
      return true;
    }
  }
  return false;
}

// Each slot is loaded once: what changes in between is seen by the next look. True: one has
// changed.
bool look_at_slots(Watched& watched) {
  bool changed = false;
  for (u32 i = 0; i < watched.seen.size(); ++i) {
    const u64 value = watched.page->slot(i).load(std::memory_order_relaxed);
    changed |= value != watched.seen[i];
    watched.seen[i] = value;
  }
  return changed;
}

bool store_under_way(Watched& watched) {
  if (watched.store_until_ns != 0 &&
      (any_slot_changed(watched) || now_ns() >= watched.store_until_ns)) {
    watched.store_until_ns = 0;
  }
  return watched.store_until_ns != 0;
}

// Opens or closes the client's mapping to stores. False: the client is gone, or unmapped the page.
bool write_protect(const Watched& watched, u64 bytes, bool protect) {
  uffdio_writeprotect argument{};
  argument.range.start = watched.client_va;
  argument.range.len = bytes;
  argument.mode = protect ? UFFDIO_WRITEPROTECT_MODE_WP : 0;
  int result;
  do {
    result = ioctl(watched.uffd.get(), UFFDIO_WRITEPROTECT, &argument);
  } while (result != 0 && errno == EAGAIN);  // the address space is changing
  return result == 0;
}

}  // namespace

struct DoorbellWatch::Impl {
  std::mutex mutex;           // pages and their heat
  std::mutex callback_mutex;  // held while callbacks run
  std::map<u64, std::function<void()>> callbacks;
  u64 next_callback = 1;
  std::vector<std::unique_ptr<Watched>> pages;
  UniqueFd wake;  // eventfd: the set of pages changed, or stop
  bool stop = false;
  std::thread thread;

  void main();
  bool look_at_events(const std::vector<pollfd>& fds);
  bool poll_pages();
  bool anything_polled();
  void call_back();
  void cool(Watched& watched, u64 bytes);
  void notify() {
    const u64 one = 1;
    if (write(wake.get(), &one, sizeof(one)) < 0) {
      log_error("doorbells: cannot wake the watcher: {}", std::strerror(errno));
    }
  }
};

DoorbellWatch::DoorbellWatch() : impl_(std::make_unique<Impl>()) {
  impl_->wake.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!impl_->wake) {
    log_error("doorbells: eventfd: {}", std::strerror(errno));
  }
  impl_->thread = std::thread([this] { impl_->main(); });
}

DoorbellWatch::~DoorbellWatch() {
  {
    std::lock_guard lock(impl_->mutex);
    impl_->stop = true;
  }
  impl_->notify();
  impl_->thread.join();
}

u64 DoorbellWatch::on_ring(std::function<void()> callback) {
  std::lock_guard lock(impl_->callback_mutex);
  impl_->callbacks[impl_->next_callback] = std::move(callback);
  return impl_->next_callback++;
}

void DoorbellWatch::remove_callback(u64 number) {
  std::lock_guard lock(impl_->callback_mutex);
  impl_->callbacks.erase(number);
}

void DoorbellWatch::add(std::shared_ptr<DoorbellPage> page) {
  auto watched = std::make_unique<Watched>();
  watched->seen.resize(page->slot_count());
  watched->page = std::move(page);
  look_at_slots(*watched);
  {
    std::lock_guard lock(impl_->mutex);
    impl_->pages.push_back(std::move(watched));
  }
  impl_->notify();
}

void DoorbellWatch::remove(const DoorbellPage& page) {
  {
    std::lock_guard lock(impl_->mutex);
    std::erase_if(impl_->pages, [&](const auto& watched) { return watched->page.get() == &page; });
  }
  impl_->notify();
}

void DoorbellWatch::reset_slot(DoorbellPage& page, u32 slot) {
  // Under the lock: the poller must not compare a store of the new queue with the old value.
  std::lock_guard lock(impl_->mutex);
  page.slot(slot).store(kNeverRung, std::memory_order_release);
  for (const auto& watched : impl_->pages) {
    if (watched->page.get() == &page) {
      watched->seen[slot] = kNeverRung;
    }
  }
}

void DoorbellWatch::attach_userfaultfd(const std::shared_ptr<DoorbellPage>& page, UniqueFd uffd,
                                       u64 client_va) {
  // The watcher reads until there is nothing left, and poll() of a blocking userfaultfd only says
  // POLLERR.
  fcntl(uffd.get(), F_SETFL, fcntl(uffd.get(), F_GETFL) | O_NONBLOCK);
  {
    std::lock_guard lock(impl_->mutex);
    const auto found = std::find_if(impl_->pages.begin(), impl_->pages.end(),
                                    [&](const auto& watched) { return watched->page == page; });
    if (found != impl_->pages.end()) {
      Watched& watched = **found;
      watched.uffd = std::move(uffd);
      watched.client_va = client_va;
      page->hot.store(true);
      // Cold from the start: the device may be asleep, and nobody polls this page any more.
      impl_->cool(watched, page->bytes_);
    }
  }
  impl_->notify();
  impl_->call_back();  // a store may have come before
}

// Called with the mutex held.
void DoorbellWatch::Impl::cool(Watched& watched, u64 bytes) {
  if (!watched.uffd || !watched.page->hot.load()) {
    return;
  }
  if (!write_protect(watched, bytes, true)) {
    watched.uffd.reset();  // polled from here on, until the page is removed or attached again
    notify();
  }
  watched.page->hot.store(false);
}

void DoorbellWatch::cool_down(const std::vector<Doorbell>& doorbells) {
  std::lock_guard lock(impl_->mutex);
  for (const auto& watched : impl_->pages) {
    const bool wanted = std::any_of(doorbells.begin(), doorbells.end(), [&](const Doorbell& bell) {
      return bell.page == watched->page;
    });
    if (wanted && !store_under_way(*watched)) {
      impl_->cool(*watched, watched->page->bytes_);
    }
  }
}

bool DoorbellWatch::Impl::anything_polled() {
  return std::any_of(pages.begin(), pages.end(), [](const auto& page) { return !page->uffd; });
}

void DoorbellWatch::Impl::main() {
  prctl(PR_SET_NAME, "vgpu-doorbells");
  gp::ask_for_short_slices();  // a program's store into a cold page waits for this thread
  int delay_us = kFirstPollUs;
  for (;;) {
    std::vector<pollfd> fds = {{wake.get(), POLLIN, 0}};
    bool polled = false;
    {
      std::lock_guard lock(mutex);
      if (stop) {
        return;
      }
      for (const auto& watched : pages) {
        if (watched->uffd) {
          fds.push_back({watched->uffd.get(), POLLIN, 0});
        }
      }
      polled = anything_polled();
    }
    const timespec timeout = {0, delay_us * 1000L};
    if (ppoll(fds.data(), fds.size(), polled ? &timeout : nullptr, nullptr) < 0 && errno != EINTR) {
      log_error("doorbells: ppoll: {}", std::strerror(errno));
      return;
    }
    u64 ignored;
    while (read(wake.get(), &ignored, sizeof(ignored)) > 0) {
    }
    bool rung = look_at_events(fds);
    const bool polled_ring = poll_pages();
    delay_us = polled_ring ? kFirstPollUs : std::min(delay_us * 2, kLongestPollUs);
    rung |= polled_ring;
    if (rung) {
      call_back();
    }
  }
}

void DoorbellWatch::Impl::call_back() {
  std::lock_guard lock(callback_mutex);
  for (const auto& [number, callback] : callbacks) {
    callback();
  }
}

// A store into a cold page faulted: open the page, which lets the client's thread go on. The store
// itself lands after this.
bool DoorbellWatch::Impl::look_at_events(const std::vector<pollfd>& fds) {
  bool rung = false;
  for (const pollfd& fd : fds) {
    if (fd.fd == wake.get() || fd.revents == 0) {
      continue;
    }
    std::lock_guard lock(mutex);
    for (const auto& watched : pages) {
      if (watched->uffd.get() != fd.fd) {
        continue;
      }
      uffd_msg message;
      bool faulted = false;
      while (read(fd.fd, &message, sizeof(message)) == sizeof(message)) {
        faulted |= message.event == UFFD_EVENT_PAGEFAULT;
      }
      const bool gone = fd.revents & (POLLERR | POLLHUP | POLLNVAL);
      if (!faulted && !gone) {
        // The thread has left the fault before we came: by a signal, or because the page was open
        // for another meanwhile. It faults again if the page is cold. To open it now would let the
        // store in while nobody looks.
        continue;
      }
      if (faulted) {
        rung = true;
        look_at_slots(*watched);
        watched->store_until_ns = now_ns() + kLongestStoreNs;
      }
      watched->page->hot.store(true);
      if (!write_protect(*watched, watched->page->bytes_, false) || gone) {
        watched->uffd.reset();  // the client is gone or has unmapped the page: polled from here on
        watched->page->hot.store(false);
      }
    }
  }
  return rung;
}

bool DoorbellWatch::Impl::poll_pages() {
  std::lock_guard lock(mutex);
  bool rung = false;
  for (const auto& watched : pages) {
    if (watched->uffd) {
      continue;
    }
    rung |= look_at_slots(*watched);
  }
  return rung;
}

}  // namespace vgpu::device
