// The lines of the driver's hex dumps: seq_hex_dump (mqds, rls) and seq_reg_dump (hqds,
// kfd_device_queue_manager.c:3543) both print "    0000c914: 006e3000 ..." with up to eight dwords.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "libc/types.h"

namespace gp::discover {

struct DumpLine {
  static constexpr u32 kLongest = 8;
  u32 address = 0;  // of the first dword: an offset, or a register's address in bytes
  u32 count = 0;    // 1..8
  std::array<u32, kLongest> dwords{};
};

// Empty unless the line is whole: an address of eight digits, a colon, dwords of eight digits, one
// space before each, nothing else.
std::optional<DumpLine> parse_dump_line(std::string_view line);

// The address alone of a line that has the length of a whole one of eight dwords: for dumps of
// which a few lines matter. What the line holds is not looked at.
std::optional<u32> full_line_address(std::string_view line);

// Whether a line that is not whole was meant to be one: it has a colon where dump lines have it,
// and mostly digits before that.
bool resembles_dump_line(std::string_view line);

}  // namespace gp::discover
