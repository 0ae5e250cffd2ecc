// The debugger interface (kfd_debug.c): exceptions of a process, and enabling, disabling and using
// a debug session on it.
#pragma once

#include "driver/module.h"

namespace vgpu::driver {

// Where an exception comes from.
struct ExceptionSource {
  Node* node = nullptr;
  // Queue exceptions: the queue, by id (EC_QUEUE_NEW) or by doorbell (all others), as in the
  // interrupt.
  u32 id = 0;
  const abi::MemoryExceptionData* fault = nullptr;  // EC_DEVICE_MEMORY_VIOLATION
};

// Notes the exception and, if the debugger subscribed to it, writes a byte into its pipe. False:
// not debugged or not subscribed. Takes the process's event lock (kfd_dbg_ev_raise).
bool raise_exception(Process& process, u64 mask, const ExceptionSource& source);

// All with the target's process lock held.
int debug_enable(Call& call, Process& target, abi::DbgEnableArgs& args);
int debug_disable(Process& target);
int debug_activate(Process& target);
void debug_deactivate(Process& target);
int debug_send_runtime_event(Process& target, const abi::DbgSendRuntimeEventArgs& args);
void debug_set_exceptions(Process& target, u64 mask);
int debug_query_event(Process& target, abi::DbgQueryDebugEventArgs& args);
int debug_query_exception_info(Call& call, Process& target, abi::DbgQueryExceptionInfoArgs& args);
int debug_queue_snapshot(Call& call, Process& target, abi::DbgSnapshotArgs& args);
int debug_device_snapshot(Call& call, Process& target, abi::DbgSnapshotArgs& args);
int debug_suspend_queues(Call& call, Process& target, const abi::DbgSuspendQueuesArgs& args);
int debug_resume_queues(Call& call, Process& target, const abi::DbgResumeQueuesArgs& args);
int debug_set_launch_mode(Process& target, u32 mode);
int debug_set_launch_override(Process& target, abi::DbgLaunchOverrideArgs& args);
int debug_set_flags(Process& target, u32& flags);

// An exception of a queue or a memory fault, as the GPU's interrupts report them: to the debugger
// if it asked for it, else to the runtime. From the work thread, with no lock held.
void exception_from_interrupt(Process& process, Node& node, u64 mask, u32 doorbell_slot,
                              const abi::MemoryExceptionData* fault);

// Resumes every queue of the process.
void resume_all_queues(Process& process);

}  // namespace vgpu::driver
