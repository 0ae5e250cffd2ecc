// What happens when a wave or a packet goes wrong. As on hardware, only the process concerned
// notices; the driver is told and tells the runtime.
#include "device/impl.h"
#include "isa/disasm.h"

namespace vgpu::device {
namespace {

const char* stop_name(isa::Stop stop) {
  switch (stop) {
    case isa::Stop::fault: return "memory access fault";
    case isa::Stop::illegal: return "illegal instruction";
    case isa::Stop::trap: return "s_trap";
    case isa::Stop::halt: return "wave halted";
    default: return "wave stopped";
  }
}

}  // namespace

MqdPtr Gpu::Impl::shared(const QueueExecution& queue) const {
  for (const MqdPtr& mqd : listed_) {
    if (mqd.get() == queue.mqd) {
      return mqd;
    }
  }
  return nullptr;
}

void Gpu::Impl::memory_fault(QueueExecution& queue, u64 va, bool write) {
  Host::MemoryFault fault;
  fault.va = va;
  fault.write = write;
  // Mapped, and still no access: it is the right that is missing.
  fault.not_present = !write || !queue.mqd->vmid->memory.translate(va);
  memory_fault(queue, fault);
}

// A VM fault stops the process: amdkfd evicts all its queues (kfd_process_vm_fault) and the runtime
// aborts it.
void Gpu::Impl::memory_fault(QueueExecution& queue, const Host::MemoryFault& fault) {
  const Vmid* vmid = queue.mqd->vmid.get();
  log_error("gpu: memory access fault at {:#x} ({}{}), pasid {}", fault.va,
            fault.write ? "write" : "read", fault.not_present ? ", not mapped" : ", not permitted",
            vmid->pasid);
  queue.stopped = true;
  for (const MqdPtr& mqd : listed_) {
    if (mqd->vmid.get() == vmid) {
      mqd->execution->stopped = true;
    }
  }
  HostCall call;
  call.kind = HostCall::Kind::memory_fault;
  call.pasid = vmid->pasid;
  call.fault = fault;
  outbox_.push_back(std::move(call));
}

// The queue stops for good. The code goes where the CP or the runtime's trap handler would put it.
void Gpu::Impl::queue_failed(QueueExecution& queue, QueueError error, u64 code) {
  queue.stopped = true;
  if (queue.mqd->properties.type == QueueType::compute_aql) {
    raise_inactive(queue, code);  // only AQL queues have an amd_queue_t
  }
  HostCall call;
  call.kind = HostCall::Kind::queue_error;
  call.queue = shared(queue);
  call.error = error;
  call.error_code = code;
  if (call.queue) {
    outbox_.push_back(std::move(call));
  }
}

// A wave cannot go on. It is named in the log with the instruction that did it.
void Gpu::Impl::wave_stopped(WorkGroup& group, const SliceResult& result) {
  isa::Wave& wave = group.waves[result.wave];
  QueueExecution& queue = group.queue;
  const isa::Fault& fault = wave.fault;
  if (result.stop == isa::Stop::trap && fault.trap_id == 1) {
    wave.pc += 4;  // the runtime's trap handler skips it
    return;
  }
  const Vmid& vmid = *queue.mqd->vmid;
  u32 words[2] = {};
  const bool readable = vmid.memory.read(fault.pc, words, sizeof(words));
  log_error("gpu: {} at pc {:#x}: {}: {} (kernel {:#x}, work-group {}, wave {}, pasid {})",
            stop_name(result.stop), fault.pc,
            readable ? isa::disassemble(wave.arch, words, 2) : "no code there", fault.reason,
            group.packet.aql.dispatch.kernel_object, group.number, result.wave, vmid.pasid);
  switch (result.stop) {
    case isa::Stop::fault: wave_faulted(queue, fault); break;
    case isa::Stop::illegal:
      queue_failed(queue, QueueError::illegal_instruction, abi::inactive_illegal_instruction);
      break;
    case isa::Stop::trap: wave_trapped(queue, wave); break;
    default: queue.stopped = true; break;  // s_sethalt: for a debugger, and there is none
  }
}

// Addresses of more than 48 bits do not reach the page tables: the memory unit itself refuses them
// (TRAPSTS.MEM_VIOL without XNACK_ERROR; the runtime's trap handler then stores this code).
void Gpu::Impl::wave_faulted(QueueExecution& queue, const isa::Fault& fault) {
  const u64 upper = fault.va >> 48;
  if (upper != 0 && upper != 0xffff) {
    queue_failed(queue, QueueError::aperture_violation, abi::inactive_memory_violation);
    return;
  }
  Host::MemoryFault report;
  report.va = fault.va;
  report.write = fault.write;
  report.not_present = !fault.no_permission;
  report.no_execute = fault.no_permission && fault.va == fault.pc;
  memory_fault(queue, report);
}

// Trap 2 is abort. 3 and above belong to the debugger; without one the wave stays halted.
void Gpu::Impl::wave_trapped(QueueExecution& queue, isa::Wave& wave) {
  if (wave.fault.trap_id == 2) {
    queue_failed(queue, QueueError::trap, abi::inactive_trap);
  } else {
    queue.stopped = true;
  }
}

}  // namespace vgpu::device
