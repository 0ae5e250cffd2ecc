#include "demo/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace gp::demo {
namespace {

using namespace std::chrono_literals;
constexpr auto kRefresh = 200ms;
constexpr std::size_t kWidth = 79;  // a longer line would wrap, and could not be erased
constexpr char kEraseLine[] = "\r\x1b[K";

}  // namespace

Progress::Progress() : terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (line_open_) {
    fmt::print(stderr, "\n");
  }
}

void Progress::begin(const std::string& phase) {
  phase_ = phase;
  began_ = std::chrono::steady_clock::now();
  if (terminal_) {
    show("");
  } else {
    fmt::print(stderr, "{} ...\n", phase_);
  }
}

void Progress::update(const std::string& detail) {
  if (terminal_ && std::chrono::steady_clock::now() - shown_ >= kRefresh) {
    show(detail);
  }
}

void Progress::show(const std::string& detail) {
  shown_ = std::chrono::steady_clock::now();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(shown_ - began_).count();
  const std::string line = fmt::format("{} ... {} s  {}", phase_, seconds, detail);
  fmt::print(stderr, "{}{}", kEraseLine, line.substr(0, kWidth));
  std::fflush(stderr);
  line_open_ = true;
}

void Progress::say(const std::string& text) { fmt::print(stderr, "{}\n", text); }

void Progress::done(const std::string& outcome) {
  fmt::print(stderr, "{}{}: {}\n", terminal_ ? kEraseLine : "", phase_, outcome);
  line_open_ = false;
}

}  // namespace gp::demo
