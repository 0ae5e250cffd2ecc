// What the programs of tests/hip and tests/hsa share: a wrong value prints one line and ends the
// program with status 1; pass() prints the one line of a success. Included by a relative path:
// hipcc is given no include directories.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

// EXPECT(condition, format, ...): the message gives the values that disagree.
#define EXPECT(condition, ...)                                                       \
  do {                                                                               \
    if (!(condition)) {                                                              \
      std::fprintf(stderr, "%s:%d: not true: %s: ", __FILE__, __LINE__, #condition); \
      std::fprintf(stderr, __VA_ARGS__);                                             \
      std::fprintf(stderr, "\n");                                                    \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (false)

inline int pass(const char* statement) {
  std::printf("ok: %s\n", statement);
  return 0;
}
