// From what the programs wrote to a phase of the report.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "demo/phases.h"
#include "report/trace.h"

namespace gp::demo {
namespace {

constexpr double kUsPerMs = 1000, kUsPerS = 1e6;
constexpr u64 kNsPerUs = 1000;

struct Window {
  u64 start_us = 0, end_us = 0;
  u64 from_start(u64 moment_us) const { return std::clamp(moment_us, start_us, end_us) - start_us; }
};

Window window_of(const Measured& measured) {
  if (measured.serving) {
    return {measured.serving->start_us, measured.serving->end_us()};
  }
  const Training& training = *measured.training;
  return {training.start_us, training.trail.back().time_us};
}

// Who had work for the GPU when, as the programs themselves saw it.
std::vector<report::Span> own_timeline(const Measured& measured, const Window& window) {
  std::vector<report::Span> spans;
  if (measured.serving) {
    for (const Request& request : measured.serving->requests) {
      spans.push_back(
          {"online", "request", request.arrival_us, request.arrival_us + request.latency_us});
    }
  }
  if (measured.training) {
    spans.push_back({"offline", "running", window.from_start(measured.training->start_us),
                     window.from_start(measured.training->trail.back().time_us)});
  }
  return spans;
}

// Only a language model's answers come token by token.
std::optional<report::Tokens> tokens_of(const Measured& measured, const Undisturbed& undisturbed) {
  if (!measured.serving) {
    return std::nullopt;
  }
  report::Tokens tokens;
  for (const Request& request : measured.serving->requests) {
    for (std::size_t i = 0; i < request.token_us.size(); ++i) {
      const u64 last_us = i > 0 ? request.token_us[i - 1] : 0;
      (i > 0 ? tokens.next_ms : tokens.first_ms)
          .push_back(static_cast<double>(request.token_us[i] - last_us) / kUsPerMs);
    }
  }
  if (tokens.first_ms.empty()) {
    return std::nullopt;
  }
  if (undisturbed.serving) {
    tokens.texts_equal = same_answers(*measured.serving, *undisturbed.serving);
  }
  return tokens;
}

}  // namespace

Result<report::Phase> phase_of(const std::string& name, const Measured& measured,
                               const Undisturbed& undisturbed) {
  if (measured.training && measured.training->trail.empty()) {
    return Error{EPROTO, fmt::format("{}: the trainer has made no step", name), ""};
  }
  const Window window = window_of(measured);
  report::Phase phase;
  phase.name = name;
  phase.duration_s = static_cast<double>(window.end_us - window.start_us) / kUsPerS;
  phase.preemptions = measured.preemptions;
  if (measured.serving) {
    for (const Request& request : measured.serving->requests) {
      phase.online_arrival_ms.push_back(static_cast<double>(request.arrival_us) / kUsPerMs);
      phase.online_latency_ms.push_back(static_cast<double>(request.latency_us) / kUsPerMs);
    }
  }
  if (measured.training) {
    phase.offline_steps_per_s =
        steps_per_second(*measured.training, window.start_us, window.end_us);
  }
  if (measured.training && undisturbed.training) {
    phase.checksum_ok = same_results(*measured.training, *undisturbed.training);
  }
  phase.tokens = tokens_of(measured, undisturbed);
  phase.timeline = measured.trace.empty()
                       ? own_timeline(measured, window)
                       : TRY(report::timeline_of(measured.trace, window.start_us * kNsPerUs,
                                                 window.end_us * kNsPerUs));
  return phase;
}

}  // namespace gp::demo
