#include "daemon/page_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

namespace gp::daemon {

Result<std::unique_ptr<PageMapping>> PageMapping::map(int memfd) {
  struct stat status {};
  const int seals = ::fcntl(memfd, F_GET_SEALS);
  constexpr int kNeeded = F_SEAL_SHRINK | F_SEAL_GROW;
  if (seals < 0 || (seals & kNeeded) != kNeeded || ::fstat(memfd, &status) != 0 ||
      status.st_size != static_cast<off_t>(wire::kPageBytes)) {
    return Error{EINVAL, "the agent's page is no sealed memfd of the right size", ""};
  }
  void* memory = ::mmap(nullptr, wire::kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
  if (memory == MAP_FAILED) {
    return Error{errno, "cannot map the agent's page", ""};
  }
  auto* page = static_cast<wire::Page*>(memory);
  std::unique_ptr<PageMapping> mapping(new PageMapping(page));
  if (page->magic != wire::kPageMagic || page->version != wire::Page{}.version) {
    return Error{EPROTO, "the agent's page is of another version", ""};
  }
  return mapping;
}

PageMapping::~PageMapping() { ::munmap(page_, wire::kPageBytes); }

sched::Activity PageMapping::activity() const {
  sched::Activity activity;
  // Pairs with the agent's exchange of `busy`: its times are written before.
  activity.busy = page_->busy.load(std::memory_order_acquire) != 0;
  activity.busy_since_ns = page_->busy_since_ns.load(std::memory_order_relaxed);
  activity.idle_since_ns = page_->idle_since_ns.load(std::memory_order_relaxed);
  activity.completed = page_->completed.load(std::memory_order_relaxed);
  activity.overdue_starts = page_->overdue_starts.load(std::memory_order_relaxed);
  return activity;
}

// Pairs with the acquire of the agent's thread when its lease ends.
void PageMapping::set_deadline(u64 deadline_ns) {
  page_->lease_deadline_ns.store(deadline_ns, std::memory_order_release);
}

}  // namespace gp::daemon
