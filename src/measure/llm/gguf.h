// GGUF, the file of a language model that llama.cpp reads: settings by name, then tensors. As
// ggml documents it (version 3), little-endian:
//
//   "GGUF", u32 version, u64 tensors, u64 settings
//   each setting: its key (u64 length, bytes), u32 kind of value, the value
//   each tensor:  its name, u32 dimensions, u64 size of each, the fastest first, u32 kind of
//                 element, u64 place of its data, from the start of all data
//   the data of the tensors, each at a multiple of the alignment (32)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "libc/types.h"

namespace gp::llm {

inline constexpr char kGgufMagic[] = "GGUF";
inline constexpr u32 kGgufVersion = 3;
inline constexpr u64 kGgufAlignment = 32;

// gguf_metadata_value_type: those that we write.
enum class GgufKind : u32 {
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
};

// ggml_type.
enum class GgufElement : u32 { f32 = 0, f16 = 1 };

class GgufFile {
 public:
  void set(std::string_view key, u32 value);
  void set(std::string_view key, float value);
  void set(std::string_view key, bool value);
  void set(std::string_view key, std::string_view value);
  void set(std::string_view key, const char* value) { set(key, std::string_view(value)); }
  void set(std::string_view key, const std::vector<std::string>& values);
  void set(std::string_view key, const std::vector<float>& values);
  void set(std::string_view key, const std::vector<i32>& values);

  // As many values as the product of its dimensions; F16 rounds each to the nearest, toward zero.
  void add_tensor(std::string_view name, const std::vector<u64>& dimensions, GgufElement element,
                  const std::vector<float>& values);

  std::string bytes() const;

 private:
  void begin_setting(std::string_view key, GgufKind kind);

  u64 settings_ = 0, tensors_ = 0;
  std::string setting_bytes_, tensor_bytes_, data_;
};

// Whether a file can be one: EINVAL with the reason if it cannot. Looks at its first bytes only.
Status check_is_gguf(const std::string& path);

}  // namespace gp::llm
