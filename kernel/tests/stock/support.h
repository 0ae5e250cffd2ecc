// What the tests of the stock driver share: processes of their own, and raw requests where the
// library has no call, or sends none that is wrong.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "abi/kfd.h"
#include "kfd/channel.h"

namespace gp::stock {

// Every process has its own state in the driver (queues, debugger, runtime), and it lasts as long
// as the process: a test that changes it runs in a child. Failures in the child fail the test.
void in_own_process(const std::function<void()>& body);

// Opens /dev/kfd, which is what makes a process one that the driver knows.
class Kfd {
 public:
  Kfd();
  ~Kfd();
  Kfd(const Kfd&) = delete;
  Kfd& operator=(const Kfd&) = delete;

  const kfd::Channel& channel() const { return channel_; }
  int fd() const { return channel_.fd; }

  // Result of the request made of this number and the size of these arguments: 0 or -errno.
  template <class Args>
  int call(u32 number, Args& args) const {
    return send('K', number, sizeof(args), &args);
  }
  int send(u32 type, u32 number, u32 size, void* args) const;

 private:
  kfd::Channel channel_;
};

// Another process, which lives until the end of the test.
class Victim {
 public:
  enum class Uses { nothing, kfd, kfd_with_runtime };
  explicit Victim(Uses uses);
  ~Victim();
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  pid_t pid() const { return pid_; }
  // Makes the calling thread its tracer, without stopping it; 0 or -errno.
  int seize() const;

 private:
  pid_t pid_ = -1;
};

struct Ended {
  int status = 0;
  std::string output;  // stdout and stderr
};
Ended run_program(const std::string& command);

}  // namespace gp::stock
