// mechanism_stopper PID MECHANISM [MS]: stops all queues of a process, for an hour if no time is
// given, says "stopped", and waits to be killed.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "mechanism/controller.h"

int main(int argc, char** argv) {
  using namespace gp::mechanism;
  const Info* mechanism = argc >= 3 ? find(argv[2]) : nullptr;
  auto controller = Controller::create();
  if (mechanism == nullptr || !controller) {
    std::fprintf(stderr, "usage: mechanism_stopper PID MECHANISM [MS]\n");
    return 2;
  }
  LeaseOptions options;
  options.duration =
      argc > 3 ? std::chrono::milliseconds(std::atoi(argv[3])) : std::chrono::hours(1);
  options.mechanism = mechanism->id;
  const Target target{{std::atoi(argv[1]), 0}, {}};
  const auto lease = (*controller)->stop({&target, 1}, options);
  if (!lease) {
    std::fprintf(stderr, "%s\n", lease.error().message().c_str());
    return 1;
  }
  std::printf("stopped\n");
  std::fflush(stdout);
  for (;;) {
    pause();
  }
}
