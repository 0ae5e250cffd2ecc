// Uses the GPU, shuts the runtime down, and does it all again: as a program does that loads and
// unloads what uses the GPU. Each line of input takes it one step further; it says what it did.
#include <iostream>
#include <string>

#include "hsa/hsa_program.h"

namespace {

void wait_for_a_line() {
  std::string line;
  if (!std::getline(std::cin, line)) {
    std::exit(1);
  }
}

void use_the_gpu() {
  Machine machine;  // which also shuts the runtime down
  hsa_queue_t* queue = machine.queue();
  const hsa_signal_t done = machine.signal(1);
  std::cout << "queue" << std::endl;
  wait_for_a_line();
  barrier_and(queue, {}, done);
  wait_for(done);
  std::cout << "completed" << std::endl;
  HSA(hsa_signal_destroy(done));
  HSA(hsa_queue_destroy(queue));
}

}  // namespace

int main() {
  std::cout << "ready" << std::endl;
  for (int i = 0; i < 2; ++i) {
    use_the_gpu();
    std::cout << "shut down" << std::endl;
    wait_for_a_line();
  }
}
