// RUNTIME_ENABLE and DBG_TRAP: who may debug whom, and what each operation needs
// (kfd_chardev.c:2770-3139).
#include <poll.h>

#include <cerrno>

#include "base/log.h"
#include "driver/debug/debug.h"
#include "driver/handlers.h"
#include "driver/queues/queues.h"
#include "driver/task.h"

namespace vgpu::driver {
namespace {

// Sleeps until the debugger answers (SEND_RUNTIME_EVENT with EC_PROCESS_RUNTIME).
int wait_for_debugger(Process& process, std::unique_lock<std::mutex>& lock) {
  process.runtime_wake.wait(lock,
                            [&] { return process.runtime_semaphore > 0 || process.abandoned; });
  process.runtime_retry = process.runtime_semaphore == 0;
  if (process.runtime_retry) {
    return process.abandoned;
  }
  --process.runtime_semaphore;
  return 0;
}

void raise_runtime_event(Process& process) {
  raise_exception(process, abi::ec_mask(abi::ec_process_runtime), {});
}

int enable_runtime(Process& process, const abi::RuntimeEnableArgs& args,
                   std::unique_lock<std::mutex>& lock) {
  if (!process.runtime_retry) {
    if (process.runtime.runtime_state != abi::runtime_disabled) {
      return -EBUSY;
    }
    if (!process.queues.empty()) {
      return -EEXIST;
    }
    process.runtime = {args.r_debug, abi::runtime_enabled,
                       args.mode_mask & abi::kRuntimeTtmpSave ? 1u : 0u};
    if (process.debug_trap_enabled) {
      debug_activate(process);
      raise_runtime_event(process);
    }
  }
  return process.debug_trap_enabled ? wait_for_debugger(process, lock) : 0;
}

int disable_runtime(Process& process, std::unique_lock<std::mutex>& lock) {
  const bool was_enabled = process.runtime.runtime_state == abi::runtime_enabled;
  process.runtime.runtime_state = abi::runtime_disabled;
  process.runtime.r_debug = 0;
  if (process.debug_trap_enabled) {
    if (was_enabled) {
      debug_deactivate(process);
    }
    if (!process.runtime_retry) {
      raise_runtime_event(process);
    }
    if (const int error = wait_for_debugger(process, lock)) {
      return error;
    }
  }
  process.runtime.ttmp_setup = 0;
  for (const auto& device : process.devices) {
    if (device->node.profile->per_vmid_debug) {
      device->node.dqm->refresh();
    }
  }
  return 0;
}

bool needs_enabled_runtime(u32 op) {
  switch (op) {
    case abi::dbg_set_wave_launch_override:
    case abi::dbg_set_wave_launch_mode:
    case abi::dbg_suspend_queues:
    case abi::dbg_resume_queues:
    case abi::dbg_set_node_address_watch:
    case abi::dbg_clear_node_address_watch:
    case abi::dbg_set_flags: return true;
    default: return false;
  }
}

// The process `pid` names in the caller's pid namespace; null with *error.
ProcessPtr find_target(Call& call, const abi::DbgTrapArgs& args, int* error) {
  *error = -ESRCH;
  // A process that stops its own queues is what online work waits for: no search through /proc.
  const pid_t own_pid = call.process.own_pid;
  if (own_pid != 0 && own_pid == static_cast<pid_t>(args.pid)) {
    return has_memory(call.process.pid) ? call.process_ptr : nullptr;
  }
  const pid_t id = translate_pid(static_cast<pid_t>(args.pid), call.caller.pid);
  const auto task = look_up_task(id);
  if (!task || !task->has_memory) {
    return nullptr;
  }
  // A tracer may debug a process that has not opened the device yet.
  if (args.op == abi::dbg_enable && id != call.caller.tid && task->tracer == call.caller.tid) {
    auto created = call.module.create_process(task->leader);
    if (!created) {
      *error = -created.error().code;
      return nullptr;
    }
    return *created;
  }
  return call.module.find_process(task->leader);
}

// Debugging oneself needs nothing. Otherwise the calling *thread* must ptrace the target's leader;
// newer kernels also take any thread of the process that enabled the session.
bool may_debug(const Call& call, const Process& target, u32 op) {
  if (&target == &call.process) {
    return true;
  }
  const auto leader = look_up_task(target.pid);
  if (leader && leader->tracer == call.caller.tid) {
    return true;
  }
  if (call.module.config.ptrace_rule == PtraceRule::tracer_thread) {
    return op == abi::dbg_disable;  // 6.12.95 exempts it
  }
  return target.debugger.lock() == call.process_ptr;
}

// The kernel ends the sessions of a debugger before anybody can see that it has died
// (kfd_process.c:1250). The server is told of a death like everybody else, perhaps after the next
// debugger is here, whose ENABLE makes the target its own even if it fails (kfd_chardev.c:3027).
void end_session_of_dead_debugger(Process& target) {
  const ProcessPtr debugger = target.debugger.lock();
  if (!debugger) {
    return;
  }
  pollfd dead = {debugger->pidfd.get(), POLLIN, 0};
  if (!debugger->pidfd || ::poll(&dead, 1, 0) == 1) {
    debug_disable(target);
    target.debugger.reset();
  }
}

int run_operation(Call& call, Process& target, abi::DbgTrapArgs& args) {
  switch (args.op) {
    case abi::dbg_enable: {
      if (&target != &call.process) {
        target.debugger = call.process_ptr;  // also if it then fails with EALREADY
      }
      const int error = debug_enable(call, target, args.enable);
      if (error == 0) {
        const std::lock_guard lock(target.event_mutex);
        target.exception_enable_mask = args.enable.exception_mask;
      }
      return error;
    }
    case abi::dbg_disable: return debug_disable(target);
    case abi::dbg_send_runtime_event:
      return debug_send_runtime_event(target, args.send_runtime_event);
    case abi::dbg_set_exceptions_enabled:
      debug_set_exceptions(target, args.set_exceptions_enabled.exception_mask);
      return 0;
    case abi::dbg_set_wave_launch_override:
      return debug_set_launch_override(target, args.launch_override);
    case abi::dbg_set_wave_launch_mode:
      return debug_set_launch_mode(target, args.launch_mode.launch_mode);
    case abi::dbg_suspend_queues: return debug_suspend_queues(call, target, args.suspend_queues);
    case abi::dbg_resume_queues: return debug_resume_queues(call, target, args.resume_queues);
    case abi::dbg_set_node_address_watch:
      return target.find_device(args.set_address_watch.gpu_id) ? -ENOMEM : -ENODEV;
    case abi::dbg_clear_node_address_watch:
      return target.find_device(args.clear_address_watch.gpu_id) ? -EINVAL : -ENODEV;
    case abi::dbg_set_flags: return debug_set_flags(target, args.set_flags.flags);
    case abi::dbg_query_debug_event: return debug_query_event(target, args.query_debug_event);
    case abi::dbg_query_exception_info:
      return debug_query_exception_info(call, target, args.query_exception_info);
    case abi::dbg_get_queue_snapshot:
      return debug_queue_snapshot(call, target, args.queue_snapshot);
    case abi::dbg_get_device_snapshot:
      return debug_device_snapshot(call, target, args.device_snapshot);
    default: return -EINVAL;
  }
}

}  // namespace

int runtime_enable(Call& call, abi::RuntimeEnableArgs& args) {
  std::unique_lock lock(call.process.mutex);
  return args.mode_mask & abi::kRuntimeEnable ? enable_runtime(call.process, args, lock)
                                              : disable_runtime(call.process, lock);
}

int dbg_trap(Call& call, abi::DbgTrapArgs& args) {
  int error = 0;
  const ProcessPtr target = find_target(call, args, &error);
  if (!target) {
    return error;
  }
  const std::lock_guard lock(target->mutex);
  end_session_of_dead_debugger(*target);
  if (!may_debug(call, *target, args.op)) {
    log_debug("pid {} is not ptraced by thread {} and cannot be debugged", args.pid,
              call.caller.tid);
    return -EPERM;
  }
  if (target->exited) {
    return -ESRCH;
  }
  if (args.op != abi::dbg_enable && !target->debug_trap_enabled) {
    return -EINVAL;
  }
  if (needs_enabled_runtime(args.op) && target->runtime.runtime_state != abi::runtime_enabled) {
    return -EPERM;
  }
  return run_operation(call, *target, args);
}

}  // namespace vgpu::driver
