// The border between C and C++: no exception leaves, every failure leaves its text behind, and
// structures are read and written by the size their owner gave them.
#pragma once

#include <cxxabi.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <type_traits>

#include "base/result.h"

namespace gp::lib {

// Keeps the texts of this thread's last failure and returns -error.code.
int fail(const Error& error);
// The same without allocating, for when there is no memory. `what` is a literal.
int fail(int code, const char* what);

const char* error_text();
const char* error_hint();

// Calls `body`, which returns an int or ssize_t for the C caller; an exception becomes an errno.
// A cancelled thread unwinds through here: that is not ours to stop.
template <class Body>
auto guarded(Body&& body) -> std::invoke_result_t<Body> {
  try {
    return body();
  } catch (const ::abi::__forced_unwind&) {
    throw;
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM, "out of memory");
  } catch (const std::exception& exception) {
    return fail(Error{EIO, exception.what(), "this is a bug in gpreempt: please report it"});
  }
}

// A caller's options, whose first field is the size of what the caller has: what is missing is
// zero, what we do not know must be zero. `options` may be null: all zero.
template <class Options>
Result<Options> read_options(const Options* options, const char* name) {
  Options known{};
  if (options == nullptr) {
    return known;
  }
  const std::size_t size = options->size;
  if (size < sizeof(std::size_t)) {
    return Error{EINVAL, std::string(name) + ".size is not set", "set it to sizeof"};
  }
  const auto* bytes = reinterpret_cast<const char*>(options);
  const char* tail = bytes + std::min(size, sizeof known);
  if (std::any_of(tail, bytes + size, [](char byte) { return byte != 0; })) {
    return Error{E2BIG, std::string(name) + " has options that this library does not know",
                 "the program was built for a newer gpreempt"};
  }
  std::memcpy(static_cast<void*>(&known), options, std::min(size, sizeof known));
  return known;
}

// Gives a result to a caller whose structure may be shorter or longer than ours.
template <class Answer>
int write_answer(const Answer& answer, Answer* out, const char* name) {
  static_assert(std::is_trivially_copyable_v<Answer>);
  if (out == nullptr || out->size < sizeof(std::size_t)) {
    return fail(Error{EINVAL, std::string(name) + ".size is not set", "set it to sizeof"});
  }
  const std::size_t size = out->size;
  auto* bytes = reinterpret_cast<char*>(out);
  std::memset(bytes, 0, size);
  std::memcpy(bytes, &answer, std::min(size, sizeof answer));
  out->size = size;
  return 0;
}

}  // namespace gp::lib
