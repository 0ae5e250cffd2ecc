#include "preload/device.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "protocol/wire.h"

namespace vgpu::preload {
namespace {

Device the_device;
bool active = false;
pthread_once_t once = PTHREAD_ONCE_INIT;

void find_device() {
  const char* directory = environment(wire::kEnvironment);
  if (directory == nullptr || directory[0] != '/') {
    return;
  }
  size_t length = strlen(directory);
  while (length > 1 && directory[length - 1] == '/') {
    --length;
  }
  if (length + sizeof(wire::kTreeName) + 1 >= sizeof the_device.tree) {
    return;
  }
  memcpy(the_device.directory, directory, length);
  memcpy(the_device.tree, directory, length);
  the_device.tree[length] = '/';
  strcpy(the_device.tree + length + 1, wire::kTreeName);
  the_device.tree_length = strlen(the_device.tree);
  active = true;
}

}  // namespace

const char* environment(const char* name) {
  const size_t length = strlen(name);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') {
      return *entry + length + 1;
    }
  }
  return nullptr;
}

const Device* device() {
  pthread_once(&once, find_device);
  return active ? &the_device : nullptr;
}

void report_lost_device() {
  static std::atomic<bool> reported{false};
  if (reported.exchange(true)) {
    return;
  }
  char text[kMaxDirectory + 128];
  const int length = snprintf(text, sizeof text,
                              "vgpu: the virtual GPU in %s has gone (hint: is vgpud running? its "
                              "log is there)\n",
                              the_device.directory);
  const int saved = errno;
  if (write(STDERR_FILENO, text, static_cast<size_t>(length)) < 0) {
    // Standard error is closed: the caller still gets ENODEV.
  }
  errno = saved;
}

}  // namespace vgpu::preload
