// The page an agent shares, mapped. The agent made it and may write anything into it at any time:
// it is read with atomic loads only, and nothing in it is trusted. It cannot be cut short under our
// feet: that is sealed, or the page is refused.
#pragma once

#include <memory>

#include "base/result.h"
#include "sched/tables.h"
#include "wire/page.h"

namespace gp::daemon {

class PageMapping {
 public:
  static Result<std::unique_ptr<PageMapping>> map(int memfd);
  PageMapping(const PageMapping&) = delete;
  PageMapping& operator=(const PageMapping&) = delete;
  ~PageMapping();

  sched::Activity activity() const;
  void set_deadline(u64 deadline_ns);

 private:
  explicit PageMapping(wire::Page* page) : page_(page) {}
  wire::Page* page_;
};

}  // namespace gp::daemon
