#include "agent/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace gp::agent {
namespace {

constexpr u32 kMaxPriority = 15;
constexpr int kStartTimeField = 22;  // of /proc/self/stat, proc(5)

const char* setting(const char* name, const char* other_name = nullptr) {
  const char* value = secure_getenv(name);
  if (value != nullptr && value[0] != '\0') {
    return value;
  }
  return other_name != nullptr ? setting(other_name) : nullptr;
}

u32 class_code(const char* name) {
  const auto work_class = name == nullptr ? std::nullopt : find_class(name);
  return work_class ? wire::code_of(*work_class) : wire::kClassUnset;
}

u32 priority_of(const char* text) {
  if (text == nullptr) {
    return wire::kPriorityUnset;
  }
  char* end = nullptr;
  errno = 0;
  const unsigned long value = strtoul(text, &end, 10);
  const bool good = errno == 0 && end != text && *end == '\0' && value <= kMaxPriority;
  return good ? static_cast<u32>(value) : wire::kPriorityUnset;
}

template <size_t N>
void copy(char (&field)[N], const char* text) {
  if (text != nullptr) {
    strncpy(field, text, N - 1);
  }
}

// 0 if it cannot be read.
u64 start_time() {
  char text[1024];
  const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  const ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) {
    close(fd);
  }
  if (size <= 0) {
    return 0;
  }
  text[size] = '\0';
  // The second field is the program's name in brackets and may contain anything.
  const char* at = strrchr(text, ')');
  for (int field = 2; at != nullptr && field < kStartTimeField; field++) {
    at = strchr(at + 1, ' ');
  }
  return at == nullptr ? 0 : strtoull(at, nullptr, 10);
}

}  // namespace

void describe_process(wire::Hello& hello) {
  hello.pid = static_cast<u32>(getpid());
  hello.work_class = class_code(setting("GPREEMPT_CLASS"));
  hello.priority = priority_of(setting("GPREEMPT_PRIORITY", "AMD_QUEUE_PRIORITY"));
  hello.start_time = start_time();
  copy(hello.tag, setting("GPREEMPT_TAG", "AMD_QUEUE_TAG"));
  copy(hello.job, setting("GPREEMPT_JOB"));
}

}  // namespace gp::agent
