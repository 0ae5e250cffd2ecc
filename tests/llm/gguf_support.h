// A reader of GGUF files of its own, written after ggml's description: what the writer means is
// not asked.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "libc/types.h"

namespace gp::llm {

using Texts = std::vector<std::string>;
using Value =
    std::variant<u32, i32, float, bool, std::string, Texts, std::vector<float>, std::vector<i32>>;

struct ReadTensor {
  std::vector<u64> dimensions;
  u32 type = 0;  // ggml_type
  u64 offset = 0;
  std::vector<float> values;
};

struct ReadFile {
  u32 version = 0;
  std::map<std::string, Value> settings;
  std::map<std::string, ReadTensor> tensors;
  u64 data_start = 0, size = 0;
};

inline float float_of_half(u16 half) {
  const int exponent = half >> 10 & 0x1f, mantissa = half & 0x3ff;
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), -24)
                              : std::ldexp(static_cast<float>(mantissa | 0x400), exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

class GgufReader {
 public:
  explicit GgufReader(const std::string& bytes) : bytes_(bytes) {}

  ReadFile read() {
    ReadFile file;
    if (take(4) != "GGUF") {
      throw std::runtime_error("no magic");
    }
    file.version = number<u32>();
    const u64 tensors = number<u64>(), settings = number<u64>();
    for (u64 i = 0; i < settings; ++i) {
      const std::string key = text();
      file.settings[key] = value(number<u32>());
    }
    for (u64 i = 0; i < tensors; ++i) {
      const std::string name = text();
      file.tensors[name] = tensor();
    }
    file.data_start = (at_ + 31) / 32 * 32;  // general.alignment is 32 unless it is set
    file.size = bytes_.size();
    for (auto& [name, each] : file.tensors) {
      at_ = file.data_start + each.offset;
      u64 count = 1;
      for (const u64 size : each.dimensions) {
        count *= size;
      }
      for (u64 i = 0; i < count; ++i) {
        each.values.push_back(each.type == 1 ? float_of_half(number<u16>()) : number<float>());
      }
    }
    return file;
  }

 private:
  std::string take(u64 size) {
    if (size > bytes_.size() - at_) {
      throw std::runtime_error("the file is too short");
    }
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() { return take(number<u64>()); }

  // gguf_metadata_value_type.
  Value value(u32 type) {
    switch (type) {
      case 4: return number<u32>();
      case 5: return number<i32>();
      case 6: return number<float>();
      case 7: return number<u8>() != 0;
      case 8: return text();
      case 9: return array(number<u32>());
      default: throw std::runtime_error("a value of an unknown type");
    }
  }
  template <class T, class Read>
  std::vector<T> many(Read read) {
    std::vector<T> values;
    for (u64 left = number<u64>(); left > 0; --left) {
      values.push_back(read());
    }
    return values;
  }
  Value array(u32 type) {
    switch (type) {
      case 5: return many<i32>([&] { return number<i32>(); });
      case 6: return many<float>([&] { return number<float>(); });
      case 8: return many<std::string>([&] { return text(); });
      default: throw std::runtime_error("an array of an unknown type");
    }
  }
  ReadTensor tensor() {
    ReadTensor tensor;
    for (u32 left = number<u32>(); left > 0; --left) {
      tensor.dimensions.push_back(number<u64>());
    }
    tensor.type = number<u32>();
    tensor.offset = number<u64>();
    return tensor;
  }

  const std::string& bytes_;
  u64 at_ = 0;
};

}  // namespace gp::llm
