#include "bench/driver_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>

namespace gp::bench {
namespace {

constexpr unsigned kWarning = 4;  // LOGLEVEL_WARNING, include/linux/kern_levels.h

// A read of /dev/kmsg returns one record, and no record is longer than this (CONSOLE_EXT_LOG_MAX).
using Piece = std::array<char, 8192>;

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

}  // namespace

Result<DriverLog> DriverLog::open() {
  const char* device = std::getenv("GPREEMPT_VGPU_DIR");
  const std::string path = device != nullptr ? std::string(device).append("/log") : "/dev/kmsg";
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file || ::lseek(file.get(), 0, SEEK_END) < 0) {
    return Error{errno, std::string("read ").append(path), "the kernel's log may need root"};
  }
  return DriverLog(std::move(file), device == nullptr);
}

Result<std::vector<std::string>> DriverLog::complaints() {
  std::vector<std::string> found;
  std::string lines;  // of a device: a read may end in the middle of one
  Piece piece;
  for (;;) {
    const ssize_t size = ::read(file_.get(), piece.data(), piece.size());
    if (size < 0 && errno == EPIPE) {
      found.emplace_back("the kernel has overwritten a part of its log");
      continue;
    }
    if (size < 0 && errno != EAGAIN) {
      return Error{errno, "read the driver's log", "has the device gone?"};
    }
    if (size <= 0) {
      break;
    }
    const std::string_view text(piece.data(), static_cast<std::size_t>(size));
    if (!is_kernel_) {
      lines += text;
    } else if (is_complaint_of_kernel(text)) {
      found.emplace_back(first_line(text.substr(text.find(';') + 1)));
    }
  }
  for (std::string_view rest = lines; !rest.empty();) {
    const std::string_view line = first_line(rest);
    if (is_complaint_of_device(line)) {
      found.emplace_back(line);
    }
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  return found;
}

bool is_complaint_of_kernel(std::string_view record) {
  unsigned facility_and_level = 0;
  const auto parsed =
      std::from_chars(record.data(), record.data() + record.size(), facility_and_level);
  const std::size_t begin = record.find(';');
  if (parsed.ec != std::errc() || begin == std::string_view::npos) {
    return false;
  }
  const std::string_view text = first_line(record.substr(begin + 1));
  const bool of_gpu =
      text.find("amdgpu") != std::string_view::npos || text.find("kfd") != std::string_view::npos;
  return of_gpu && facility_and_level % 8 <= kWarning;
}

bool is_complaint_of_device(std::string_view line) {
  return line.find(" warning: ") != std::string_view::npos ||
         line.find(" error: ") != std::string_view::npos;
}

}  // namespace gp::bench
