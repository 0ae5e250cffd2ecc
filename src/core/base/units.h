// Quantities as people write them on a command line: "4G", "20ms", "0.02s".
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "libc/types.h"

namespace gp {

// Bytes: a whole number with an optional suffix K, M, G or T (powers of 1024; "KiB" and "KB" mean
// the same). EINVAL if it is not one, ERANGE if it does not fit 64 bits.
Result<u64> parse_size(std::string_view text);

// Nanoseconds: a decimal number with a unit: ns, us, ms, s or min. A bare number is refused: nobody
// can tell what it means.
Result<u64> parse_duration_ns(std::string_view text);

// A whole number in [lowest, highest], decimal or 0x....
Result<u64> parse_number(std::string_view text, u64 lowest, u64 highest);

// "4G", "1.5M", "312": short, for tables.
std::string format_size(u64 bytes);

}  // namespace gp
