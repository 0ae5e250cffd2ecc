// gpreempt-llm-client: one user of a llama-server, who asks, reads the answer, thinks, and asks
// again. `gpreempt demo --llm` starts it; what it writes is read by demo/workload_results.h.
//
// Closed loop: a request arrives when its user has thought, and nothing waits in line behind it.
// Latency counts from the moment it was meant to arrive. Questions, seeds and pauses are the same
// in every run, so answers can be compared.
#include <fmt/format.h>
#include <time.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "base/exit_code.h"
#include "base/files.h"
#include "base/units.h"
#include "libc/clock.h"
#include "llm/ask.h"

namespace {

using gp::u32, gp::u64;
using nlohmann::ordered_json;

constexpr char kUsage[] =
    "usage: gpreempt-llm-client SOCKET REQUESTS THINK_MS TOKENS FILE\n"
    "\n"
    "Asks the llama-server that listens on SOCKET (--host PATH.sock) so many questions, with "
    "about\n"
    "THINK_MS between an answer and the next question, and writes times and answers to FILE.\n";
constexpr unsigned kWarmUps = 2;              // the first requests load code
constexpr std::chrono::minutes kPatience{2};  // for one answer
constexpr u64 kNsPerUs = 1000, kNsPerMs = 1'000'000, kNsPerS = 1'000'000'000;

struct Settings {
  std::string socket, file;
  u64 requests = 0, think_ms = 0, tokens = 0;
};

gp::Result<Settings> settings_of(char** words) {
  Settings settings;
  settings.socket = words[0];
  settings.requests = TRY(gp::parse_number(words[1], 1, 1'000'000));
  settings.think_ms = TRY(gp::parse_number(words[2], 0, 60'000));
  settings.tokens = TRY(gp::parse_number(words[3], 1, 4096));
  settings.file = words[4];
  return settings;
}

gp::llm::Question question(u32 number, const Settings& settings) {
  constexpr const char* kSubjects[] = {"rivers",  "bridges", "gardens", "clocks",
                                       "letters", "winter",  "sailors", "mirrors"};
  return {fmt::format("tell me about {}", kSubjects[number % std::size(kSubjects)]),
          static_cast<u32>(settings.tokens), number};
}

void sleep_until(u64 moment_ns) {
  const timespec moment{static_cast<time_t>(moment_ns / kNsPerS),
                        static_cast<long>(moment_ns % kNsPerS)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, nullptr) == EINTR) {
  }
}

ordered_json request_json(const gp::llm::Answer& answer, u64 start_ns, u64 arrival_ns) {
  ordered_json moments = ordered_json::array();
  for (const u64 moment_ns : answer.token_ns) {
    moments.push_back((moment_ns - arrival_ns) / kNsPerUs);
  }
  return {{"arrival_us", (arrival_ns - start_ns) / kNsPerUs},
          {"latency_us", moments.back()},
          {"token_us", moments},
          {"tokens", answer.tokens},
          {"text", answer.text}};
}

gp::Status serve(const Settings& settings) {
  for (u32 i = 0; i < kWarmUps; ++i) {
    TRY(gp::llm::ask(settings.socket, question(i, settings), kPatience));
  }
  std::mt19937 generator(1);
  ordered_json requests = ordered_json::array();
  const u64 start_ns = gp::monotonic_ns();
  u64 arrival_ns = start_ns;
  for (u32 i = 0; i < settings.requests; ++i) {
    // From half to one and a half of the mean.
    arrival_ns +=
        settings.think_ms * kNsPerMs / 2 + generator() % (settings.think_ms * kNsPerMs + 1);
    sleep_until(arrival_ns);
    const auto answer = TRY(gp::llm::ask(settings.socket, question(i, settings), kPatience));
    requests.push_back(request_json(answer, start_ns, arrival_ns));
    arrival_ns = answer.token_ns.back();
    fmt::print("request {}/{}\n", i + 1, settings.requests);
    std::fflush(stdout);
  }
  const ordered_json file = {
      {"schema_version", 1}, {"start_us", start_ns / kNsPerUs}, {"requests", requests}};
  return gp::write_file(settings.file,
                        file.dump(1, ' ', false, ordered_json::error_handler_t::replace));
}

}  // namespace

int main(int count, char** words) {
  if (count != 6) {
    std::fputs(kUsage, stderr);
    return gp::exit_usage;
  }
  const auto settings = settings_of(words + 1);
  const gp::Status served = settings ? serve(*settings) : gp::Status(settings.error());
  return served ? gp::exit_ok : gp::report_error(served.error());
}
