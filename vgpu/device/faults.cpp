// What happens when a wave or a packet goes wrong. As on hardware, only the process concerned
// notices; the driver is told and tells the runtime.
#include "base/log.h"
#include "device/impl.h"

namespace vgpu::device {

MqdPtr Gpu::Impl::shared(const QueueExecution& queue) const {
  for (const MqdPtr& mqd : listed_) {
    if (mqd.get() == queue.mqd) {
      return mqd;
    }
  }
  return nullptr;
}

// A VM fault stops the process: amdkfd evicts all its queues (kfd_process_vm_fault) and the runtime
// aborts it.
void Gpu::Impl::memory_fault(QueueExecution& queue, u64 va, bool write) {
  const Vmid* vmid = queue.mqd->vmid.get();
  if (!queue.stopped) {
    log_error("gpu: memory access fault at {:#x} ({}), pasid {}", va, write ? "write" : "read",
              vmid->pasid);
  }
  queue.stopped = true;
  for (const MqdPtr& mqd : listed_) {
    if (mqd->vmid.get() == vmid) {
      mqd->execution->stopped = true;
    }
  }
  HostCall call;
  call.kind = HostCall::Kind::memory_fault;
  call.pasid = vmid->pasid;
  call.fault.va = va;
  call.fault.write = write;
  outbox_.push_back(std::move(call));
}

// The queue stops for good. The code goes where the CP or the runtime's trap handler would put it.
void Gpu::Impl::queue_failed(QueueExecution& queue, QueueError error, u64 code) {
  queue.stopped = true;
  if (!queue.is_sdma()) {
    raise_inactive(queue, code);
  }
  HostCall call;
  call.kind = HostCall::Kind::queue_error;
  call.pasid = queue.mqd->vmid->pasid;
  call.queue = shared(queue);
  call.error = error;
  call.error_code = code;
  if (call.queue) {
    outbox_.push_back(std::move(call));
  }
}

void Gpu::Impl::wave_stopped(WorkGroup& group, const SliceResult& result) {
  isa::Wave& wave = group.waves[result.wave];
  QueueExecution& queue = group.queue;
  const isa::Fault& fault = wave.fault;
  const auto report = [&](const char* what) {
    log_error("gpu: {} at pc {:#x}: {} (kernel {:#x}, work-group {}, wave {}, pasid {})", what,
              fault.pc, fault.reason, group.packet.aql.dispatch.kernel_object, group.number,
              result.wave, queue.mqd->vmid->pasid);
  };
  switch (result.stop) {
    case isa::Stop::fault:
      report("memory access fault");
      memory_fault(queue, fault.va, fault.write);
      return;
    case isa::Stop::illegal:
      report("illegal instruction");
      queue_failed(queue, QueueError::illegal_instruction, abi::inactive_illegal_instruction);
      return;
    case isa::Stop::trap:
      // The runtime's trap handler: trap 1 is skipped, 2 is abort, 3 and above are the debugger's,
      // and without one the wave stays halted.
      if (fault.trap_id == 1) {
        wave.pc += 4;
        return;
      }
      report("s_trap");
      if (fault.trap_id == 2) {
        queue_failed(queue, QueueError::trap, abi::inactive_trap);
        return;
      }
      queue.stopped = true;
      return;
    default:
      report("wave halted");
      queue.stopped = true;
      return;
  }
}

}  // namespace vgpu::device
