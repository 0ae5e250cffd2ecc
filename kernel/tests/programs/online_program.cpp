// A program with a queue on the first GPU that has online work for as long as it lives, and says so
// to gpreemptd.
#include <fcntl.h>
#include <gpreempt/gpreempt.h>
#include <unistd.h>

#include <cstdio>

#include "client.h"
#include "machine.h"

int open_render_node(unsigned) { return open("/dev/kfd_sim_render", O_RDWR | O_CLOEXEC); }

int main() {
  constexpr uint32_t highest_priority = 15;
  Client client;
  if (client.create_queue(0, highest_priority) < 0) {
    std::fprintf(stderr, "cannot create a queue\n");
    return 1;
  }
  gpreempt_context* context = nullptr;
  if (gpreempt_open(nullptr, &context) != 0 || gpreempt_online_begin(context, 0) != 0) {
    std::fprintf(stderr, "%s\n", gpreempt_error_text());
    return 1;
  }
  return pause();
}
