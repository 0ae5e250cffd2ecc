// mechanism_stopper PID MECHANISM [MS [keeper]]: stops all queues of a process, for an hour if no
// time is given, says "stopped", and waits to be killed. With a keeper, or without.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "mechanism/controller.h"

int main(int argc, char** argv) {
  using namespace gp;
  using namespace gp::mechanism;
  const MechanismInfo* mechanism = argc >= 3 ? find_mechanism(argv[2]) : nullptr;
  auto controller = Controller::create({.keeper = argc > 4});
  if (mechanism == nullptr || !controller) {
    std::fprintf(stderr, "usage: mechanism_stopper PID MECHANISM [MS]\n");
    return 2;
  }
  LeaseOptions options;
  options.deadline =
      Clock::now() + std::chrono::milliseconds(argc > 3 ? std::atoi(argv[3]) : 3'600'000);
  options.mechanism = mechanism->mechanism;
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
