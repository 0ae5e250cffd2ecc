#include "verify/load.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <initializer_list>
#include <thread>

namespace gp::verify {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLastWords = std::chrono::seconds(10);  // a night's are long

demo::Command command_of(const Setting& setting, const LoadOptions& options) {
  demo::Command command;
  command.name = options.name;
  command.environment = options.environment;
  const auto add = [&](std::initializer_list<std::string> words) {
    command.words.insert(command.words.end(), words);
  };
  if (options.scheduler != nullptr) {
    add({setting.programs.gpreempt, "run"});
    options.streams ? add({"--streams"}) : add({"--class", options.work_class});
    add({"--job", options.job.empty() ? options.name : options.job, "--socket",
         options.agent ? options.scheduler->socket() : setting.scratch.file("nobody"), "--"});
  }
  add({setting.programs.load, "--node", std::to_string(options.node.value_or(setting.node.node_id)),
       "--mark",
       fmt::format("{}-{}", setting.mark, options.streams ? "streams" : options.work_class)});
  options.streams ? add({"--streams"}) : add({"--queues", std::to_string(options.queues)});
  command.error_file = setting.scratch.file(fmt::format("{}.log", options.name));
  command.end_signal = SIGKILL;
  command.listens = true;
  return command;
}

}  // namespace

Result<Load> Load::start(const Setting& setting, const LoadOptions& options) {
  std::error_code none;  // the last words of one before it are not its own
  std::filesystem::remove(setting.scratch.file(fmt::format("{}.log", options.name)), none);
  const unsigned queues = options.streams ? 2 : options.queues;
  Load load(setting, TRY(demo::Child::start(command_of(setting, options))), queues);
  load.has_agent_ = options.scheduler != nullptr && options.agent;
  load.ready_ = TRY(load.take("ready"));
  for (unsigned i = 0; i < queues; ++i) {
    load.queues_.push_back(TRY(load.take("queue")));
  }
  return load;
}

bool Load::take_if_said(const std::string& word, Reply& reply) {
  const auto& lines = child_->lines();
  for (; read_ < lines.size(); ++read_) {
    unread_.push_back(lines[read_]);
  }
  for (auto line = unread_.begin(); line != unread_.end(); ++line) {
    const std::string first = line->substr(0, line->find(' '));
    if (first == word || first == "error") {
      reply = parse_reply(*line);
      if (first == "error") {
        reply.texts["error"] = *line;
      }
      unread_.erase(line);
      return true;
    }
  }
  return false;
}

Result<Reply> Load::take(const demo::Waiter& waiter, const std::string& word, milliseconds patience,
                         const std::vector<Load*>& beside) {
  Reply reply;
  bool gone = false;
  std::vector<demo::Child*> children = {child_.get()};
  for (Load* other : beside) {
    children.push_back(other->child_.get());
  }
  TRY(waiter.wait(
      fmt::format("{} of {}", word, child_->name()).c_str(), children,
      [&] {
        gone = child_->status().has_value();
        return take_if_said(word, reply) || gone;
      },
      patience));
  if (reply.word == "error") {
    return Error{EPROTO, fmt::format("{} says: {}", child_->name(), reply.text("error")), ""};
  }
  if (reply.word.empty()) {
    return child_->failure();
  }
  return reply;
}

Result<Rate> Load::calibrate(const KernelShape& shape) {
  TRY(tell(fmt::format("calibrate kernel={} groups={}", shape.kernel, shape.groups)));
  const Reply reply = TRY(take("rate"));
  told_rates_.push_back(shape);
  return Rate{reply.number("rounds_per_ms"), reply.number("ticks_per_ms")};
}

Result<double> Load::bandwidth() {
  TRY(tell("bandwidth"));
  return TRY(take("bandwidth")).number("gb_per_s");
}

// What a launch says; the program is told the rate first if it does not know it.
Result<std::string> Load::words_of(const KernelShape& shape, double ms) {
  if (std::ranges::count(told_rates_, shape) == 0) {
    const auto rate = setting_.rates.find(shape);
    if (rate == setting_.rates.end()) {
      return Error{EINVAL, fmt::format("{} was not calibrated", shape.kernel), ""};
    }
    TRY(tell(fmt::format("rate kernel={} groups={} rounds_per_ms={:.3f} ticks_per_ms={:.3f}",
                         shape.kernel, shape.groups, rate->second.rounds_per_ms,
                         rate->second.ticks_per_ms)));
    TRY(take("rate"));
    told_rates_.push_back(shape);
  }
  return fmt::format("kernel={} groups={} ms={:.4f}", shape.kernel, shape.groups, ms);
}

Status Load::begin_offline(const KernelShape& shape, double ms) {
  const std::string words = TRY(words_of(shape, ms));
  TRY(tell("offline " + words));
  TRY(take("begun"));
  return ok();
}

Status Load::begin_requests(const KernelShape& shape, double ms, double every_ms) {
  const std::string words = TRY(words_of(shape, ms));
  return tell(fmt::format("offline {} every={}", words, every_ms));
}

Result<Reply> Load::end_offline() {
  TRY(tell("stop"));
  return take("offline");
}

Status Load::begin_once(const KernelShape& shape, double ms) {
  const std::string words = TRY(words_of(shape, ms));
  TRY(tell("once " + words));
  TRY(take("begun"));
  return ok();
}

Result<std::vector<Reply>> Load::end_once() {
  std::vector<Reply> all;
  for (unsigned i = 0; i < count_; ++i) {
    all.push_back(TRY(take("ended")));
  }
  TRY(take("done"));
  return all;
}

Status Load::begin_online(const KernelShape& shape, double ms, double every_ms, unsigned requests) {
  const std::string words = TRY(words_of(shape, ms));
  return tell(fmt::format("online {} every={} count={}", words, every_ms, requests));
}

Result<Reply> Load::end_online(milliseconds patience, const std::vector<Load*>& beside) {
  return take(setting_.waiter, "online", patience, beside);
}

Result<Reply> Load::last_words(const std::string& word) {
  constexpr int kNobodyEndsThis = -1;
  TRY(tell("stop"));
  return take(demo::Waiter(kNobodyEndsThis, setting_.progress), word, kLastWords);
}

Result<std::vector<double>> Load::progress() {
  TRY(tell("progress"));
  Reply reply = TRY(take("progress"));
  return std::move(reply.list);
}

Result<milliseconds> Load::wait_for_progress(milliseconds patience) {
  const auto begin = Clock::now();
  const std::vector<double> before = TRY(progress());
  for (;;) {
    const auto elapsed = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    if (TRY(progress()) != before) {
      return elapsed;
    }
    if (elapsed > patience) {
      return Error{ETIMEDOUT,
                   fmt::format("{} has stood still for {} ms", child_->name(), elapsed.count()),
                   ""};
    }
    std::this_thread::sleep_for(milliseconds(1));  // each look wakes the program
  }
}

}  // namespace gp::verify
