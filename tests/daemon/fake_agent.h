// An agent as the daemon sees it, without a GPU: the test says what it answers.
#pragma once

#include <string>

#include "base/unique_fd.h"
#include "model/part.h"
#include "wire/page.h"
#include "wire/wire.h"

namespace gp::daemon {

class FakeAgent {
 public:
  // Says hello. The connection is that of the process whose agent it is.
  FakeAgent(UniqueFd connection, Part part, const char* job = "");
  // Of this process.
  FakeAgent(const std::string& socket, Part part);
  FakeAgent(const FakeAgent&) = delete;
  FakeAgent& operator=(const FakeAgent&) = delete;
  ~FakeAgent();

  bool is_welcome();  // waits; false: it was cut off
  void make_queue(u64 ring, u32 gpu_id = 1) const;
  void set_busy(bool busy) const;
  // Waits for a stop or a start and answers it.
  bool obeys(wire::Kind verb, int error = 0) const;
  bool is_cut_off() const;  // waits for that
  void leave() { connection_.reset(); }

 private:
  UniqueFd connection_, wake_;
  wire::Page* page_ = nullptr;
};

}  // namespace gp::daemon
