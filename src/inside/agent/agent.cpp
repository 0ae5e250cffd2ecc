// libgpreempt_agent.so: loaded by ROCr through HSA_TOOLS_LIB during hsa_init(). It lives in other
// people's programs: libc only, no exceptions, and every failure leaves the program as it would be
// without the agent.
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/gate.h"
#include "agent/hooks.h"
#include "agent/queues.h"
#include "agent/service.h"
#include "agent/stopper.h"
#include "agent/watcher.h"

namespace gp::agent {
namespace {

constinit int kfd_fd = -1;
constinit pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER;

// A child has none of the parent's threads and queues. It does nothing until it execs; above all it
// must not keep the parent's connection open.
void in_forked_child() {
  disable_hooks();
  for (Service& service : services) {
    service.forget_in_child();
  }
  close(kfd_fd);
  kfd_fd = -1;
}

// exit(): HIP's own clean-up, which was registered before and so comes later, must find queues that
// run.
void at_exit() {
  disable_hooks();
  for (Service& service : services) {
    service.stop(false);
  }
  stopper.shut_down();
}

void register_handlers() {
  static bool registered = false;
  if (!registered) {
    registered = pthread_atfork(nullptr, nullptr, in_forked_child) == 0 && atexit(at_exit) == 0;
  }
}

void refuse(const Refusal& refusal) {
  register_handlers();
  pthread_mutex_lock(&life);
  service_of(Part::rest).start_refused(refusal);
  pthread_mutex_unlock(&life);
}

void load(const RootTable* root) {
  do {
    kfd_fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  } while (kfd_fd < 0 && errno == EINTR);
  if (kfd_fd < 0) {
    return;  // a program without a GPU: there is nothing to stop and nothing to tell
  }
  // Also for a process that will be stopped from outside: its debugger needs RUNTIME_ENABLE, too.
  stopper.prepare(kfd::Channel{.fd = kfd_fd});
  if (Refusal refusal; !install_hooks(root, refusal)) {
    refuse(refusal);
    return;
  }
  register_handlers();
  enable_hooks();
}

void unload() {
  disable_hooks();
  for (Service& service : services) {
    service.stop(true);
  }
  for (Service& service : services) {
    service.close_kick();
  }
  Watcher::destroy_markers();
  stopper.shut_down();
  gate.forget_all();
  {
    const Queues::Lock lock(queues);
    queues.forget_all();
  }
  close(kfd_fd);
  kfd_fd = -1;
}

}  // namespace

void start_service(Part part) {
  pthread_mutex_lock(&life);
  service_of(part).start(kfd::Channel{.fd = kfd_fd});
  pthread_mutex_unlock(&life);
  queues_changed();
}

void queues_changed() {
  for (Service& service : services) {
    service.queues_changed();
  }
}

}  // namespace gp::agent

// The interface of HSA tools. True keeps the library loaded.
extern "C" __attribute__((visibility("default"))) bool OnLoad(const gp::agent::RootTable* root,
                                                              uint64_t /*version*/,
                                                              uint64_t /*failed_count*/,
                                                              const char* const* /*failed*/) {
  // Without a device or with a table we do not know there is nothing to do, but to fail would be
  // to disturb.
  gp::agent::load(root);
  return true;
}

// The runtime shuts down; its table is its own again and the library may be closed next.
extern "C" __attribute__((visibility("default"))) void OnUnload() { gp::agent::unload(); }
