#include "driver/host.h"

#include "base/log.h"
#include "driver/debug/debug.h"
#include "driver/task.h"

namespace vgpu::driver {
namespace {

u32 exception_code(device::QueueError error) {
  switch (error) {
    case device::QueueError::memory_fault: return abi::ec_queue_wave_memory_violation;
    case device::QueueError::illegal_instruction: return abi::ec_queue_wave_illegal_instruction;
    case device::QueueError::trap: return abi::ec_queue_wave_abort;
    case device::QueueError::bad_packet: return abi::ec_queue_packet_unsupported;
    case device::QueueError::aperture_violation: return abi::ec_queue_wave_aperture_violation;
    case device::QueueError::none: break;
  }
  return abi::ec_none;
}

}  // namespace

void NodeHost::signal_event(u32 pasid, u32 event_id) {
  if (const ProcessPtr process = module_.find_process_by_pasid(pasid)) {
    process->events.signal_from_gpu(event_id);
  }
}

// event_interrupt_wq_v9: the fault goes to the debugger or, as a memory exception event, to the
// runtime; the process's queues on this GPU are evicted for good.
void NodeHost::memory_fault(u32 pasid, const MemoryFault& fault) {
  abi::MemoryExceptionData data = {};
  data.failure.not_present = fault.not_present;
  data.failure.read_only = fault.write && !fault.not_present;
  data.failure.no_execute = fault.no_execute;
  data.va = fault.va & ~(kPageSize - 1);
  data.gpu_id = node_.gpu_id;
  module_.work->add([this, pasid, data] {
    const ProcessPtr process = module_.find_process_by_pasid(pasid);
    if (!process) {
      return;
    }
    log_info("gpu {:x}: process {}: memory access fault at {:#x}", node_.gpu_id, process->pid,
             data.va);
    const auto task = look_up_task(process->pid);
    node_.smi.vm_fault(process->pid, task ? task->name : "");
    exception_from_interrupt(*process, node_, abi::ec_mask(abi::ec_device_memory_violation), 0,
                             &data);
  });
}

void NodeHost::queue_error(device::Mqd& queue, device::QueueError error, u64 error_code) {
  const u32 pasid = queue.vmid->pasid;
  const u32 slot = queue.doorbell.slot;
  module_.work->add([this, pasid, slot, error, error_code] {
    const ProcessPtr process = module_.find_process_by_pasid(pasid);
    const u32 code = exception_code(error);
    if (!process || code == abi::ec_none) {
      return;
    }
    log_info("gpu {:x}: process {}: queue with doorbell {} stopped, code {:#x}", node_.gpu_id,
             process->pid, slot, error_code);
    exception_from_interrupt(*process, node_, abi::ec_mask(code), slot, nullptr);
  });
}

}  // namespace vgpu::driver
