// Result<T>: a value or an Error. Errors are values here: they carry what failed, the errno that
// caused it and a hint that names the fix, and are printed at one place, the program's end.
//
//   Result<UniqueFd> open_kfd() {
//     UniqueFd fd = TRY(open_file("/dev/kfd", O_RDWR));
//     ...
//     if (bad) return Error{ENODEV, "no GPU node in the topology"}.with_hint("is amdgpu loaded?");
//     return fd;
//   }
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace gp {

struct Error {
  int code = 0;      // an errno value; never 0
  std::string what;  // what failed, and on what
  std::string hint;  // what the user can do about it; may be empty

  Error with_hint(std::string text) && {
    hint = std::move(text);
    return std::move(*this);
  }
  // "what: strerror(code) (hint: ...)", for people.
  std::string message() const;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Error error) : state_(std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() { return std::get<0>(state_); }
  const T& operator*() const { return std::get<0>(state_); }
  // Unlike std::move() it may be left unused, as TRY is where only the error matters.
  T take() { return std::move(**this); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  Error& error() { return std::get<1>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

struct Unit {};
using Status = Result<Unit>;
inline Status ok() { return Unit{}; }

}  // namespace gp

// The value of a Result, or return its Error from the enclosing function. A GNU statement
// expression: g++ and clang both have it, and it is what makes the happy path read straight.
#define TRY(expr)                            \
  __extension__({                            \
    auto try_result_ = (expr);               \
    if (!try_result_)                        \
      return std::move(try_result_.error()); \
    try_result_.take();                      \
  })
