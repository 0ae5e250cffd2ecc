// A protobuf message being written: just the wire types that are needed here.
// https://protobuf.dev/programming-guides/encoding: a field is a varint key (number << 3 | type),
// then a varint (type 0), or a length and so many bytes (type 2: strings and messages).
#pragma once

#include <string>
#include <string_view>

#include "base/types.h"

namespace gp::report {

class Proto {
 public:
  Proto& number(u32 field, u64 value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  Proto& text(u32 field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Proto& message(u32 field, const Proto& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(u64 value) {
    for (; value >= 0x80; value >>= 7) {
      bytes_ += static_cast<char>(value | 0x80);
    }
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace gp::report
