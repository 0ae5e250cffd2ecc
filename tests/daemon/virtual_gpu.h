// The virtual GPU under a test: makes it misbehave, asks it what is stopped, kills it.
#pragma once

#include <sys/types.h>

#include <string>

#include "daemon/daemon_support.h"

namespace gp::daemon {

class VirtualGpu {
 public:
  // The one that `vgpu run` gave this test.
  static VirtualGpu given();
  // One of the test's own, which can be killed. It ends with the object. `options` of `vgpu start`.
  static VirtualGpu own(const Words& options = {});
  VirtualGpu(VirtualGpu&&) = default;
  VirtualGpu& operator=(VirtualGpu&&) = delete;
  ~VirtualGpu();

  // For programs that are to run on it.
  Environment environment() const;
  // A fault that `vgpu inject` knows.
  bool inject(const std::string& fault) const;
  // Whether some queue is not allowed to run, by whatever mechanism.
  bool has_stopped_queues() const;
  // All queues and their states, for people.
  std::string describe_queues() const;
  // What its scheduler was told, of all GPUs together.
  struct Counts {
    unsigned long unmaps = 0, run_lists = 0;
  };
  Counts counts() const;
  void kill() const;  // its server, by SIGKILL
  bool restart() const;

 private:
  VirtualGpu(std::string name, bool is_own, Words options)
      : name_(std::move(name)), is_own_(is_own), options_(std::move(options)) {}
  struct Place {
    pid_t server = 0;
    std::string directory;
  };
  Place place() const;

  std::string name_;
  bool is_own_;
  Words options_;
};

}  // namespace gp::daemon
