#include "llm/gguf.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/unique_fd.h"

namespace gp::llm {
namespace {

static_assert(std::endian::native == std::endian::little, "the file is, and numbers are copied");

template <class T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_text(std::string& bytes, std::string_view text) {
  append(bytes, u64{text.size()});
  bytes.append(text);
}

void pad(std::string& bytes) {
  bytes.resize((bytes.size() + kGgufAlignment - 1) / kGgufAlignment * kGgufAlignment);
}

// Rounds toward zero; what is too small is zero. Weights are far from what is too large.
u16 half_of(float value) {
  constexpr int kBias = 127 - 15, kMantissaBits = 23 - 10;
  u32 bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  const u32 sign = bits >> 16 & 0x8000;
  const int exponent = static_cast<int>(bits >> 23 & 0xff) - kBias;
  if (exponent <= 0) {
    return static_cast<u16>(sign);
  }
  constexpr u32 kLargest = 0x7bff;
  const u32 magnitude = static_cast<u32>(exponent) << 10 | (bits >> kMantissaBits & 0x3ff);
  return static_cast<u16>(sign | std::min(magnitude, kLargest));
}

}  // namespace

void GgufFile::begin_setting(std::string_view key, GgufKind kind) {
  ++settings_;
  append_text(setting_bytes_, key);
  append(setting_bytes_, kind);
}

void GgufFile::set(std::string_view key, u32 value) {
  begin_setting(key, GgufKind::u32);
  append(setting_bytes_, value);
}

void GgufFile::set(std::string_view key, float value) {
  begin_setting(key, GgufKind::f32);
  append(setting_bytes_, value);
}

void GgufFile::set(std::string_view key, bool value) {
  begin_setting(key, GgufKind::boolean);
  append(setting_bytes_, u8{value});
}

void GgufFile::set(std::string_view key, std::string_view value) {
  begin_setting(key, GgufKind::string);
  append_text(setting_bytes_, value);
}

void GgufFile::set(std::string_view key, const std::vector<std::string>& values) {
  begin_setting(key, GgufKind::array);
  append(setting_bytes_, GgufKind::string);
  append(setting_bytes_, u64{values.size()});
  for (const std::string& value : values) {
    append_text(setting_bytes_, value);
  }
}

void GgufFile::set(std::string_view key, const std::vector<float>& values) {
  begin_setting(key, GgufKind::array);
  append(setting_bytes_, GgufKind::f32);
  append(setting_bytes_, u64{values.size()});
  for (const float value : values) {
    append(setting_bytes_, value);
  }
}

void GgufFile::set(std::string_view key, const std::vector<i32>& values) {
  begin_setting(key, GgufKind::array);
  append(setting_bytes_, GgufKind::i32);
  append(setting_bytes_, u64{values.size()});
  for (const i32 value : values) {
    append(setting_bytes_, value);
  }
}

void GgufFile::add_tensor(std::string_view name, const std::vector<u64>& dimensions,
                          GgufElement element, const std::vector<float>& values) {
  ++tensors_;
  pad(data_);
  append_text(tensor_bytes_, name);
  append(tensor_bytes_, static_cast<u32>(dimensions.size()));
  for (const u64 size : dimensions) {
    append(tensor_bytes_, size);
  }
  append(tensor_bytes_, element);
  append(tensor_bytes_, u64{data_.size()});
  for (const float value : values) {
    element == GgufElement::f16 ? append(data_, half_of(value)) : append(data_, value);
  }
}

std::string GgufFile::bytes() const {
  std::string all = kGgufMagic;
  append(all, kGgufVersion);
  append(all, tensors_);
  append(all, settings_);
  all += setting_bytes_;
  all += tensor_bytes_;
  pad(all);
  all += data_;
  pad(all);
  return all;
}

Status check_is_gguf(const std::string& path) {
  constexpr char kHint[] = "--model takes a GGUF file; without it a small model is made";
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char begin[sizeof kGgufMagic - 1 + sizeof(u32)] = {};
  const ssize_t got = file ? ::read(file.get(), begin, sizeof begin) : -1;
  if (got < 0) {
    return Error{errno, fmt::format("read the model {}", path), kHint};
  }
  if (got < static_cast<ssize_t>(sizeof begin) ||
      std::string_view(begin, sizeof kGgufMagic - 1) != kGgufMagic) {
    return Error{EINVAL, fmt::format("{} is no model: it does not begin with {}", path, kGgufMagic),
                 kHint};
  }
  return ok();
}

}  // namespace gp::llm
