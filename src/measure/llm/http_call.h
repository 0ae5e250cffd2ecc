// One HTTP request to a server that listens on a Unix socket, as llama-server does if it is told
// to: in a private directory no port can be taken, and nobody else can ask it. Never waits longer
// than told.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gp::llm {

struct HttpRequest {
  std::string path;  // "/health"
  std::string body;  // JSON: it is posted; empty: a question without one
};

// Calls `take` with the answer's status and each part of its body as it comes; returns the status.
// ETIMEDOUT if the answer is not whole in time; ECONNREFUSED or ENOENT if nobody listens.
Result<int> http_call(const std::string& socket, const HttpRequest& request,
                      std::chrono::milliseconds patience,
                      const std::function<Status(int status, std::string_view part)>& take);

}  // namespace gp::llm
