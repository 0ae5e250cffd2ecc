// What the kernel would ask a task_struct: read from /proc.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "memory/page_table.h"

namespace vgpu::driver {

struct Task {
  pid_t leader = 0;  // Tgid: the process, also if a thread was asked for
  pid_t tracer = 0;  // TracerPid: the *thread* that ptraces it; 0 if none
  u64 effective_capabilities = 0;
  uid_t uid = 0, effective_uid = 0, saved_uid = 0;  // as this process sees them
  std::string name;
  bool has_memory = true;  // false: a zombie
};

// The thread or process `id`, or nothing if there is none.
std::optional<Task> look_up_task(pid_t id);

// False for a zombie, also a leader whose other threads go on. Much cheaper than look_up_task.
bool has_memory(pid_t id);

// The id that `id` has here, if it is meant in the pid namespace of process `speaker`; 0 if none.
pid_t translate_pid(pid_t id, pid_t speaker);

// The other way: the id that process `id` has in the pid namespace of `observer`; 0 if none.
pid_t pid_as_seen_by(pid_t id, pid_t observer);

constexpr u32 kCapSysAdmin = 21, kCapSysNice = 23, kCapCheckpointRestore = 40;
bool has_capability(pid_t id, u32 capability);

}  // namespace vgpu::driver
