// gpreempt-load: GPU work of known length and known result, for `gpreempt verify`. ROCr alone,
// found at run time; no HIP. It says what it has, then does what lines on stdin say and answers on
// stdout:
//
//   calibrate kernel=small groups=8       how fast this GPU is: "rate ...", which another process
//   rate kernel=small groups=8 rounds_per_ms=R ticks_per_ms=T        is told, so as not to measure
//   bandwidth                             of a fill of the GPU's memory: "bandwidth gb_per_s=B"
//   once ms=10                            a kernel on every queue: "begun", "ended ...", "done"
//   offline ms=10 [for=SECONDS]           back to back until "stop": "begun", "offline ..."
//   offline ms=10 every=15                a request every 15 ms until "stop": as `online`
//   online ms=1 every=50 count=100        a request every 50 ms: "online ... latencies_us ..."
//   progress                              rounds of each queue's running kernel, kernels ended
//   stop                                  ends offline or online after what is in flight
//   quit                                  or the end of stdin
// Kernels: small, registers, lds (kernels.cl). A line that is not understood: "error ...".
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>

#include "activity.h"
#include "bandwidth.h"
#include "command.h"

namespace {

using namespace gp::load;

constexpr int kUsage = 2;
constexpr const char* kUsageText =
    "usage: gpreempt-load [--gpu N | --node KFD_NODE] [--queues N | --streams] [--mark TEXT]\n"
    "Runs GPU kernels of known length as lines on stdin say; for `gpreempt verify`.\n"
    "--streams: online work on a queue of high priority, offline on one of low, both at once";

struct Options {
  unsigned gpu = 0, queues = 1;
  int node = -1;
  bool streams = false;
};

unsigned number(const char* option, const char* value, unsigned least, unsigned most) {
  char* end = nullptr;
  const unsigned long number = value != nullptr ? std::strtoul(value, &end, 10) : 0;
  if (value == nullptr || end == value || *end != '\0' || number < least || number > most) {
    fail(kUsage, "%s wants a number from %u to %u\n%s", option, least, most, kUsageText);
  }
  return static_cast<unsigned>(number);
}

Options options_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i++) {
    const std::string option = argv[i];
    if (option == "--help") {
      std::puts(kUsageText);
      std::exit(0);
    }
    if (option == "--streams") {
      options.streams = true;
      continue;
    }
    const char* value = i + 1 < argc ? argv[++i] : nullptr;
    if (option == "--gpu") {
      options.gpu = number("--gpu", value, 0, 1023);
    } else if (option == "--node") {
      options.node = static_cast<int>(number("--node", value, 0, 1023));
    } else if (option == "--queues") {
      options.queues = number("--queues", value, 1, 128);
    } else if (option == "--mark" && value != nullptr) {
      // Nothing: whoever started it tells its own by their command lines.
    } else {
      fail(kUsage, "unknown option %s\n%s", option.c_str(), kUsageText);
    }
  }
  if (options.streams && options.queues != 1) {
    fail(kUsage, "--streams has two queues: not with --queues\n%s", kUsageText);
  }
  return options;
}

class Program {
 public:
  explicit Program(const Options& options)
      : gpu_(options.gpu, options.node), activity_(streams_), on_high_(high_) {
    for (unsigned i = 0; i < options.queues; i++) {
      add_queue(streams_);
    }
    if (options.streams) {
      streams_.front()->set_priority(HSA_AMD_QUEUE_PRIORITY_LOW);
      add_queue(high_);
      high_.front()->set_priority(HSA_AMD_QUEUE_PRIORITY_HIGH);
    }
    std::uint16_t major = 0, minor = 0;
    hsa().hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MAJOR, &major);
    hsa().hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MINOR, &minor);
    say("ready pid=%d node=%u target=%s compute_units=%u queues=%u hsa=%u.%u library=%s", getpid(),
        gpu_.node, gpu_.target.c_str(), gpu_.compute_units, queues_, major, minor,
        hsa_library_path());
  }

  // False when it is time to go.
  bool obey(Command command) {
    const std::string& word = command.word();
    if (word == "quit") {
      return false;
    }
    if (word.empty()) {
      return true;
    }
    if (word == "progress") {
      return answer_progress();
    }
    if (word == "stop") {
      on_high_.end();
      activity_.end();
      return true;
    }
    if (word == "rate") {
      set_rate(command);
    } else if (is_busy(word)) {
      say("error %s: something else is under way", word.c_str());
    } else if (word == "calibrate") {
      set_rate(command);
    } else if (word == "bandwidth") {
      say("bandwidth gb_per_s=%.4f", fill_gb_per_s(gpu_));
    } else if (word == "once" || word == "offline" || word == "online") {
      start(command);
    } else {
      say("error %s: unknown", word.c_str());
    }
    return true;
  }

 private:
  using RateKey = std::pair<std::string, std::uint32_t>;

  void add_queue(Streams& streams) {
    const hsa_queue_t& queue = streams.emplace_back(std::make_unique<Stream>(gpu_))->queue();
    say("queue index=%u ring=0x%llx bytes=%u", queues_++,
        static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(queue.base_address)),
        queue.size * 64);
  }

  // For what this word asks. Where online and offline work have queues of their own they do not
  // wait for each other; what measures waits for both.
  bool is_busy(const std::string& word) const {
    return (word != "online" && activity_.busy()) || (word != "offline" && on_high_.busy()) ||
           (word == "online" && high_.empty() && activity_.busy());
  }
  Activity& activity_for(const std::string& word) {
    return word == "online" && !high_.empty() ? on_high_ : activity_;
  }

  // What every command that launches says.
  RateKey kernel_of(Command& command) {
    return {command.text("kernel", "small"), command.whole("groups", gpu_.compute_units, 1)};
  }

  static bool refused(const Command& command) {
    const auto error = command.error();
    if (error) {
      say("error %s: %s", command.word().c_str(), error->c_str());
    }
    return error.has_value();
  }

  bool answer_progress() {
    std::string rounds;
    for (const Streams* streams : {&streams_, &high_}) {
      for (const auto& stream : *streams) {
        rounds += " " + std::to_string(stream->progress());
      }
    }
    say("progress kernels=%u rounds%s", activity_.kernels(), rounds.c_str());
    return true;
  }

  void set_rate(Command& command) {
    const RateKey key = kernel_of(command);
    Rate rate;
    if (command.word() == "rate") {
      rate.rounds_per_ms = command.number("rounds_per_ms", 1, 1e-3);
      rate.ticks_per_ms = command.number("ticks_per_ms", 1, 1e-3);
    }
    if (refused(command)) {
      return;
    }
    if (command.word() == "calibrate") {
      activity_.end();
      rate = measure_rate(*streams_[0], gpu_.kernel(key.first), key.second);
    }
    rates_[key] = rate;
    say("rate kernel=%s groups=%u rounds_per_ms=%.3f ticks_per_ms=%.3f", key.first.c_str(),
        key.second, rate.rounds_per_ms, rate.ticks_per_ms);
  }

  void start(Command& command) {
    const RateKey key = kernel_of(command);
    const double ms = command.number("ms", 10, 1e-3);
    const double seconds = command.word() == "offline" ? command.number("for", 0, 0) : 0;
    const bool online = command.word() == "online";
    const double every = command.number("every", online ? 50 : 0, 0);
    const std::uint32_t count = online ? command.whole("count", 100, 1) : 0;
    if (refused(command)) {
      return;
    }
    const auto rate = rates_.find(key);
    if (rate == rates_.end()) {
      say("error %s: calibrate kernel=%s groups=%u first", command.word().c_str(),
          key.first.c_str(), key.second);
      return;
    }
    const Work work = work_of(gpu_.kernel(key.first), key.second, ms, rate->second);
    if (command.word() == "once") {
      activity_.once(work, rate->second);
    } else if (online) {
      activity_for(command.word()).requests("online", work, every, count);
    } else if (every > 0) {
      activity_.requests("offline", work, every, UINT32_MAX);
    } else {
      activity_.offline(work, rate->second, seconds);
    }
  }

  Gpu gpu_;
  unsigned queues_ = 0;
  Streams streams_, high_;  // high_ has none without --streams
  Activity activity_, on_high_;
  std::map<RateKey, Rate> rates_;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = options_of(argc, argv);
  hsa();  // before anything else: whether there is ROCm at all
  Program program(options);
  for (std::string line; std::getline(std::cin, line);) {
    if (!program.obey(Command(line))) {
      break;
    }
  }
  // Whoever told it what to do is gone, or wants it to be: a kernel that runs, or stands still, is
  // not waited for.
  std::fflush(nullptr);
  _exit(0);
}
