// Which `gpreempt suspend` of this user holds what, so that `gpreempt resume` can end it: a small
// file per holder in a private directory. The files hold no queues stopped: the holders do, and a
// file whose holder has died means nothing.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "discover/snapshot.h"

namespace gp::cli {

struct Holder {
  ProcessKey process;  // of `gpreempt suspend`
  ProcessKey target;
};

// Says for as long as it exists that this process holds queues of `target`.
class LeaseFile {
 public:
  static Result<LeaseFile> create(const ProcessKey& target);
  ~LeaseFile();
  LeaseFile(LeaseFile&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  LeaseFile& operator=(LeaseFile&&) = delete;

 private:
  explicit LeaseFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// The holders of this user that live. Files of dead ones are removed.
Result<std::vector<Holder>> lease_holders();

// Asks a holder to end, as Ctrl-C does, and waits until it has. ETIMEDOUT if it does not.
Status end_holder(const Holder& holder);

}  // namespace gp::cli
