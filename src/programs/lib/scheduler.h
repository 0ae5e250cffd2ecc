// The connection of a context to gpreemptd, and the marks that were made over it. gpreemptd ends
// the marks of a connection with it; so after a restart they are made again.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/client.h"

namespace gp::lib {

class Scheduler {
 public:
  explicit Scheduler(std::string socket) : socket_(std::move(socket)) {}

  Status online_begin(u64 latency_target_ns);
  Status online_end();
  Status set_job(const wire::SetJob& job);
  Result<std::string> status_json();

 private:
  using Question = std::function<Status(wire::Client&)>;
  // Asks over the connection there is, or a new one if that has ended.
  Status ask(const Question& question);
  Status connect();

  const std::string socket_;
  std::mutex mutex_;
  std::optional<wire::Client> client_;
  std::vector<wire::OnlineMark> marks_;  // begun and not ended
};

}  // namespace gp::lib
