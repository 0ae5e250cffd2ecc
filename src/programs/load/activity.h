// What the program is told to do with some of its queues. One activity at a time, in a thread of
// its own, so that the program answers meanwhile; each reports on stdout when it ends.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "rate.h"
#include "stream.h"

namespace gp::load {

using Streams = std::vector<std::unique_ptr<Stream>>;

// A line of the protocol, whole whoever else writes.
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));

class Activity {
 public:
  explicit Activity(Streams& streams) : streams_(streams) {}
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;
  ~Activity() { end(); }

  bool busy() const { return busy_; }
  std::uint32_t kernels() const { return kernels_; }

  // One kernel on every queue: "begun" when all their waves run, "ended" for each.
  void once(const Work& work, const Rate& rate);
  // Kernels back to back on every queue until end(), or for that long.
  void offline(const Work& work, const Rate& rate, double seconds);
  // A kernel every so often on the first queue, until end() or so many. Whether or not the last one
  // has ended: latency counts from when it should have begun. `word`: how the report begins.
  void requests(const char* word, const Work& work, double every_ms, std::uint32_t most);

  // After what is in flight; waits for it.
  void end();

 private:
  void begin(std::function<void()> what);
  void wait_until_begun() const;

  Streams& streams_;
  std::thread thread_;
  std::atomic<bool> busy_ = false, end_ = false;
  std::atomic<std::uint32_t> kernels_ = 0;
};

}  // namespace gp::load
