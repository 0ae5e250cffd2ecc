#include "activity.h"

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>

namespace gp::load {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::string in_ms(const Outcome& outcome, const Rate& rate) {
  char text[200];
  std::snprintf(text, sizeof text,
                "gpu_ms=%.4f wrong_lanes=%u gaps=%llu stood_still_ms=%.4f least_gap_ms=%.4f",
                static_cast<double>(outcome.ticks) / rate.ticks_per_ms, outcome.wrong_lanes,
                static_cast<unsigned long long>(outcome.gaps),
                static_cast<double>(outcome.stood_still) / rate.ticks_per_ms,
                static_cast<double>(outcome.least_gap) / rate.ticks_per_ms);
  return text;
}

}  // namespace

void say(const char* format, ...) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::va_list arguments;
  va_start(arguments, format);
  std::vprintf(format, arguments);
  va_end(arguments);
  std::putchar('\n');
  std::fflush(stdout);
}

void Activity::begin(std::function<void()> what) {
  end();
  end_ = false;
  busy_ = true;
  kernels_ = 0;
  for (const auto& stream : streams_) {
    stream->clear_progress();
  }
  thread_ = std::thread([this, what = std::move(what)] {
    what();
    busy_ = false;
  });
}

void Activity::end() {
  end_ = true;
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Activity::wait_until_begun() const {
  for (const auto& stream : streams_) {
    while (stream->progress() == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  say("begun");
}

void Activity::once(const Work& work, const Rate& rate) {
  begin([this, work, rate] {
    for (const auto& stream : streams_) {
      stream->launch(work);
    }
    for (const auto& stream : streams_) {
      while (!stream->all_have_begun()) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
    wait_until_begun();
    for (std::size_t i = 0; i < streams_.size(); i++) {
      const Outcome outcome = streams_[i]->wait();
      kernels_++;
      say("ended queue=%zu %s", i, in_ms(outcome, rate).c_str());
    }
    busy_ = false;
    say("done");
  });
}

void Activity::offline(const Work& work, const Rate& rate, double seconds) {
  begin([this, work, rate, seconds] {
    const auto begin = Clock::now();
    for (const auto& stream : streams_) {
      stream->launch(work);
      stream->launch(work);
    }
    wait_until_begun();
    std::mutex mutex;
    Outcome all;
    const auto keep_busy = [&](Stream& stream) {
      Outcome sum;
      while (stream.in_flight() != 0) {
        sum.add(stream.wait());
        kernels_++;
        if (!end_ && (seconds == 0 || seconds_since(begin) < seconds)) {
          stream.launch(work);
        }
      }
      const std::lock_guard lock(mutex);
      all.add(sum);
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < streams_.size(); i++) {
      threads.emplace_back(keep_busy, std::ref(*streams_[i]));
    }
    keep_busy(*streams_[0]);
    for (std::thread& thread : threads) {
      thread.join();
    }
    const double took = seconds_since(begin);
    busy_ = false;
    say("offline kernels=%u seconds=%.6f rounds=%u %s", kernels_.load(), took, work.rounds,
        in_ms(all, rate).c_str());
  });
}

void Activity::requests(const char* word, const Work& work, double every_ms, std::uint32_t most) {
  begin([this, word, work, every_ms, most] {
    std::string latencies;
    Outcome all;
    const auto begin = Clock::now();
    for (std::uint32_t i = 0; i < most && !end_; i++) {
      const auto arrival = begin + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double, std::milli>(every_ms * i));
      std::this_thread::sleep_until(arrival);
      streams_[0]->launch(work);
      const Outcome outcome = streams_[0]->wait();
      latencies += " " + std::to_string(static_cast<long>(1e6 * seconds_since(arrival)));
      all.add(outcome);
      kernels_++;
    }
    const double took = seconds_since(begin);
    busy_ = false;
    say("%s requests=%u seconds=%.6f wrong_lanes=%u latencies_us%s", word, kernels_.load(), took,
        all.wrong_lanes, latencies.c_str());
  });
}

}  // namespace gp::load
