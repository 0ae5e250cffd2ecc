// HELPER: a job whose queues tests/discover looks for
//
//   discover_streams
//
// Does one line of its standard input at a time and answers each with a line: "stream high|low"
// makes a stream of that priority and runs a kernel on it, which makes HIP create a queue.
#include <iostream>
#include <string>

#include "check.h"

namespace {

__global__ void count(int* counter) { ++*counter; }

}  // namespace

int main() {
  int* counter;
  HIP(hipMalloc(&counter, sizeof(int)));
  int low, high;
  HIP(hipDeviceGetStreamPriorityRange(&low, &high));
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    hipStream_t stream;
    HIP(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking,
                                    line == "stream high" ? high : low));
    count<<<1, 1, 0, stream>>>(counter);
    HIP(hipStreamSynchronize(stream));
    std::cout << "done" << std::endl;
  }
  return 0;
}
