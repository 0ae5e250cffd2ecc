// What the tests of the C API share. They run under `vgpu run`, on HIP programs they start there.
#pragma once

#include <string>
#include <vector>

#include "gpreempt/gpreempt.h"
#include "mechanism_support.h"

namespace gp::lib {

using mechanism::Victim;
using namespace std::chrono_literals;

// A structure that knows its size.
template <class T>
T sized() {
  T value{};
  value.size = sizeof value;
  return value;
}

inline gpreempt_stop_options stop_for(std::chrono::nanoseconds duration) {
  auto options = sized<gpreempt_stop_options>();
  options.duration_ns = static_cast<uint64_t>(duration.count());
  return options;
}

// An open context for each test.
class LibTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(gpreempt_open(nullptr, &context_), 0); }
  void TearDown() override { gpreempt_close(context_); }

  gpreempt_context* context_ = nullptr;
};

// Sets a variable for the programs started while it exists.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

}  // namespace gp::lib
