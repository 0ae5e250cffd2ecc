// A test is a function that returns when it has passed and throws Failed when it has not, or
// Skipped.
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The test is about something that this machine does not have.
struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Test {
  const char* name;
  void (*run)();
};

inline std::vector<Test>& all_tests() {
  static std::vector<Test> tests;
  return tests;
}

struct RegisterTest {
  RegisterTest(const char* name, void (*run)()) { all_tests().push_back({name, run}); }
};

// TEST(a_statement_that_holds) { ... }
#define TEST(name)                                         \
  static void test_##name();                               \
  static RegisterTest register_##name(#name, test_##name); \
  static void test_##name()

inline void fail(const char* file, int line, const std::string& what) {
  throw Failed(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

inline std::string to_text(const std::string& value) { return "\"" + value + "\""; }
template <class A>
std::string to_text(const A& value) {
  return std::to_string(value);
}

template <class T>
constexpr bool is_number = std::is_integral_v<T> && !std::is_same_v<T, bool>;

// The driver's header has some numbers as int that ours has as u32.
template <class A, class B>
bool are_equal(const A& a, const B& b) {
  if constexpr (is_number<A> && is_number<B>)
    return std::cmp_equal(a, b);
  else
    return a == b;
}

template <class A, class B>
void check_equal(const char* file, int line, const char* text, const A& got, const B& want) {
  if (!are_equal(got, want))
    fail(file, line, std::string(text) + " is " + to_text(got) + ", not " + to_text(want));
}

#define CHECK(condition) \
  if (!(condition))      \
  fail(__FILE_NAME__, __LINE__, "not true: " #condition)
#define CHECK_EQ(got, want) check_equal(__FILE_NAME__, __LINE__, #got, got, want)
