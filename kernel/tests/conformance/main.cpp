// Runs the tests: one line each, "ok NAME", "not ok NAME: why" or "skipped NAME: why".
//   preempt_test [WORD]    the one of that name, or those whose name contains WORD
// Exit: 0 all passed, 1 failed, 77 skipped.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "check.h"
#include "hammer.h"
#include "peer.h"
#include "preempt.h"

Client& self() {
  static Client client;
  return client;
}

// Processes of the last test may still be on their way out: the driver frees queues in the
// background.
static void wait_until_empty() {
  for (unsigned gpu = 0; gpu < gpus().size(); gpu++)
    wait_until([gpu] { return status(gpu).args.total_queues == 0; }, "queues are left over");
}

// Tests named without_... need a machine that lacks something, those named eight_... one of eight
// GPUs: they run only when asked for.
static bool fits_this_machine(const Test& test, const char* word) {
  for (const char* prefix : {"without_", "eight_"}) {
    const std::size_t length = strlen(prefix);
    if (strncmp(test.name, prefix, length) == 0 && strncmp(word, prefix, length) != 0)
      return false;
  }
  return true;
}

static std::vector<Test> tests_named(const char* word) {
  std::vector<Test> named;
  for (const Test& test : all_tests()) {
    if (!fits_this_machine(test, word))
      continue;
    if (strcmp(test.name, word) == 0)
      return {test};
    if (strstr(test.name, word) != nullptr)
      named.push_back(test);
  }
  return named;
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "--peer") == 0)
    return peer_main(atoi(argv[2]));
  if (argc >= 4 && strcmp(argv[1], "--hammer") == 0)
    return hammer_main(argc, argv);
  if (argc == 2 && strcmp(argv[1], "--sleep") == 0)
    return pause();
  setvbuf(stdout, nullptr, _IOLBF, 0);
  if (const std::string reason = reason_to_skip(); !reason.empty()) {
    printf("skipped: %s\n", reason.c_str());
    return 77;
  }
  int failed = 0, run = 0;
  for (const Test& test : tests_named(argc == 2 ? argv[1] : "")) {
    run++;
    try {
      wait_until_empty();
      test.run();
      printf("ok %s\n", test.name);
    } catch (const Skipped& e) {
      printf("skipped %s: %s\n", test.name, e.what());
      run--;
    } catch (const std::exception& e) {
      printf("not ok %s: %s\n", test.name, e.what());
      failed++;
    }
  }
  printf("ran %d failed %d\n", run, failed);
  return failed != 0 || run == 0;
}
