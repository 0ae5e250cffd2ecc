#include "daemon/page_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "libc/eventfd.h"

namespace gp::daemon {

Result<std::unique_ptr<PageMapping>> PageMapping::create(pid_t pid) {
  std::unique_ptr<PageMapping> mapping(new PageMapping);
  mapping->memfd_.reset(::memfd_create("gpreempt-page", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  mapping->wake_.reset(make_event());
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (!mapping->memfd_ || !mapping->wake_ || ::ftruncate(mapping->memfd(), wire::kPageBytes) != 0 ||
      ::fcntl(mapping->memfd(), F_ADD_SEALS, kSeals) != 0) {
    return Error{errno, "cannot make a page for an agent", ""};
  }
  void* memory =
      ::mmap(nullptr, wire::kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, mapping->memfd(), 0);
  if (memory == MAP_FAILED) {
    return Error{errno, "cannot map an agent's page", ""};
  }
  mapping->page_ = new (memory) wire::Page;
  mapping->page_->pid = static_cast<u32>(pid);
  return mapping;
}

PageMapping::~PageMapping() {
  if (page_ != nullptr) {
    ::munmap(page_, wire::kPageBytes);
  }
}

sched::Activity PageMapping::activity() const {
  sched::Activity activity;
  // Pairs with the agent's exchange of `busy`: its times are written before.
  activity.busy = page_->busy.load(std::memory_order_acquire) != 0;
  activity.busy_since_ns = page_->busy_since_ns.load(std::memory_order_relaxed);
  activity.idle_since_ns = page_->idle_since_ns.load(std::memory_order_relaxed);
  activity.completed = page_->completed.load(std::memory_order_relaxed);
  activity.waits_for = page_->waits_for.load(std::memory_order_acquire);
  activity.overdue_starts = page_->overdue_starts.load(std::memory_order_relaxed);
  return activity;
}

// Pairs with the acquire of the agent's thread when its lease ends.
void PageMapping::set_deadline(u64 deadline_ns) {
  page_->lease_deadline_ns.store(deadline_ns, std::memory_order_release);
}

}  // namespace gp::daemon
