// TEST: printf in a kernel reaches stdout, with every kind of argument
// BUILDS: O2 O0
// OUTPUT: block 2 thread 3 of 7: -5 18446744073709551615 2\.500000 text % 0x2a(.|\n)*all 70 lines
// came
#include <unistd.h>

#include <string>

#include "check.h"

__global__ void speak() {
  const u32 block = blockIdx.x, thread = threadIdx.x;
  printf("block %d thread %u of %d: %d %llu %f %s %% 0x%x\n", block, thread, 7, -5, ~0ull, 2.5,
         "text", 42);
}

int main() {
  // stdout goes through a pipe so that the lines can be counted.
  int pipe_fds[2];
  EXPECT(pipe(pipe_fds) == 0, "pipe");
  const int real = dup(1);
  dup2(pipe_fds[1], 1);
  speak<<<10, 7>>>();
  finish();
  std::fflush(stdout);
  dup2(real, 1);
  close(pipe_fds[1]);
  std::string text(20'000, '\0');
  size_t used = 0;
  for (ssize_t got; (got = read(pipe_fds[0], &text[used], text.size() - used)) > 0;) used += got;
  text.resize(used);
  std::printf("%s", text.c_str());
  for (int block = 0; block < 10; block++) {
    for (int thread = 0; thread < 7; thread++) {
      const std::string start =
          "block " + std::to_string(block) + " thread " + std::to_string(thread);
      EXPECT(text.find(start + " of 7: -5 ") != std::string::npos, "no line '%s'", start.c_str());
    }
  }
  std::printf("all 70 lines came\n");
  return pass("device printf");
}
