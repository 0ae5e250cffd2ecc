// Closes sockets of strangers on a thread of its own.
//
// A socket takes with it what was sent and not received, and that may be descriptors: to close the
// last one of a TCP socket with SO_LINGER sleeps for as long as its owner has chosen, in close(2)
// of whoever happens to do it. The sleep ends with a signal (sk_stream_wait_close(),
// net/core/stream.c), so the thread sends itself one. Linux 6.16 lets a socket refuse descriptors
// (SO_PASSRIGHTS); then there is nothing to wait for, and no need for this.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/unique_fd.h"

namespace gp::daemon {

class Closer {
 public:
  Closer() : thread_([this] { run(); }) {}
  Closer(const Closer&) = delete;
  Closer& operator=(const Closer&) = delete;
  ~Closer();

  void close(UniqueFd socket);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<UniqueFd> sockets_;
  bool ending_ = false;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace gp::daemon
