/* Preloaded into a guardian: nobody whom it kills dies, like a daemon that hangs in the driver. */
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int kill(pid_t pid, int signal) {
  return signal == SIGKILL ? 0 : (int)syscall(SYS_kill, pid, signal);
}
