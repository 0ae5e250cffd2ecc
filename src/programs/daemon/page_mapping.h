// The page that is shared with an agent, and the eventfd by which that wakes us. We make both: the
// files of a stranger could make us wait. The agent may write anything into the page at any time:
// it is read with atomic loads only, and nothing in it is trusted. It cannot be cut short under our
// feet: that is sealed.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sched/tables.h"
#include "wire/page.h"

namespace gp::daemon {

class PageMapping {
 public:
  static Result<std::unique_ptr<PageMapping>> create(pid_t pid);
  PageMapping(const PageMapping&) = delete;
  PageMapping& operator=(const PageMapping&) = delete;
  ~PageMapping();

  int memfd() const { return memfd_.get(); }
  int wake() const { return wake_.get(); }
  sched::Activity activity() const;
  void set_deadline(u64 deadline_ns);

 private:
  PageMapping() = default;
  UniqueFd memfd_, wake_;
  wire::Page* page_ = nullptr;
};

}  // namespace gp::daemon
