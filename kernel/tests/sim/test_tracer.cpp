// Being somebody's tracer is the right to stop them, as the debugger interface has it.
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "peer.h"
#include "preempt.h"

namespace {

// become_ordinary_user() ends the process with no_user if it cannot.
enum Outcome { as_it_should, no_user, not_refused, not_traced, not_held, not_refused_again };

// A process without privileges that tries to stop the target before, while and after it traces it.
Outcome trace_and_hold(pid_t target, uint32_t queue) {
  become_ordinary_user();
  Client client;
  int lease = create_lease(client);
  if (hold(client, lease, entry(target, queue)) != -EPERM)
    return not_refused;
  if (ptrace(PTRACE_SEIZE, target, nullptr, nullptr) != 0)
    return not_traced;
  if (hold(client, lease, entry(target, queue)) != 0)
    return not_held;
  // Only a stopped tracee can be let go.
  ptrace(PTRACE_INTERRUPT, target, nullptr, nullptr);
  waitpid(target, nullptr, __WALL);
  ptrace(PTRACE_DETACH, target, nullptr, nullptr);
  if (release(client, lease, entry(target, queue)) != -EPERM)
    return not_refused_again;
  return as_it_should;
}

}  // namespace

TEST(a_tracer_stops_its_tracee_while_it_traces_it) {
  Peer target(Peer::User::ordinary);
  int queue = target.create_queue(0, 7);
  pid_t tracer = fork();
  if (tracer == 0)
    _exit(trace_and_hold(target.pid(), queue));
  int status = 0;
  CHECK_EQ(waitpid(tracer, &status, 0), tracer);
  CHECK(WIFEXITED(status));
  CHECK_EQ(WEXITSTATUS(status), static_cast<int>(as_it_should));
  // What the tracer had stopped ends with it.
  wait_until([&] { return runs(target.pid(), queue); }, "the queue stays stopped");
}
