#include "lib/boundary.h"

#include <string_view>

namespace gp::lib {
namespace {

// Fixed, so that telling of a failure cannot fail, and nothing is left when a thread ends.
struct Texts {
  char what[1024];
  char hint[512];
};
thread_local Texts last_failure;

template <std::size_t N>
void copy(std::string_view text, char (&to)[N]) {
  const std::size_t length = std::min(text.size(), N - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

}  // namespace

int fail(const Error& error) {
  copy(error.what + ": " + std::strerror(error.code), last_failure.what);
  copy(error.hint, last_failure.hint);
  return -error.code;
}

int fail(int code, const char* what) {
  copy(what, last_failure.what);
  copy("", last_failure.hint);
  return -code;
}

const char* error_text() { return last_failure.what; }
const char* error_hint() { return last_failure.hint; }

}  // namespace gp::lib
