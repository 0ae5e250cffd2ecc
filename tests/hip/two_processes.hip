// TEST: two processes share the device and get right results
// TIMEOUT: 120
// SANITIZE:
#include "processes.h"

int main() {
  const pid_t first = start_process([] { return steady_work(1, 30, 100); });
  const pid_t second = start_process([] { return steady_work(2, 30, 100); });
  EXPECT(wait_for(first) == 0, "the first failed");
  EXPECT(wait_for(second) == 0, "the second failed");
  return pass("two processes");
}
