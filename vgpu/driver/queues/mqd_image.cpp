#include "driver/queues/mqd_image.h"

#include <algorithm>
#include <bit>

#include "abi/mqd.h"
#include "driver/queues/doorbells.h"
#include "driver/queues/queues.h"

namespace vgpu::driver {
namespace {

constexpr u32 low(u64 value) { return static_cast<u32>(value); }
constexpr u32 high(u64 value) { return static_cast<u32>(value >> 32); }
u32 log2_dwords(u64 bytes) { return static_cast<u32>(std::bit_width(bytes / 4) - 1); }

// 0-6 low, 7-10 medium, 11-15 high (kfd_mqd_manager.c:30-47).
u32 pipe_priority(u32 priority) { return priority >= 11 ? 2 : priority >= 7 ? 1 : 0; }

u64 read_guest(const Queue& queue, u64 va) {
  u64 value = 0;
  return queue.device->vmid->memory.read(va, &value, sizeof(value)) ? value : 0;
}

bool is_aql(const Queue& queue) { return queue.ioc_type == abi::queue_type_compute_aql; }

u32 pq_control(const Queue& queue) {
  constexpr u32 kRptrBlockSize = 5u << 8, kQueueFullEnable = 1u << 14, kClampEnable = 1u << 16;
  constexpr u32 kSlotBasedWptr = 2u << 25, kNoUpdateRptr = 1u << 27, kUnorderedDispatch = 1u << 28;
  u32 control = kUnorderedDispatch | kRptrBlockSize | (log2_dwords(queue.ring_size) - 1);
  if (is_aql(queue)) {
    control |= kNoUpdateRptr | kSlotBasedWptr | kClampEnable | kQueueFullEnable;
  }
  return control;
}

// The user's CU mask is dealt out over the shader engines, one bit each in turn
// (mqd_symmetrically_map_cu_mask).
void set_cu_masks(const Queue& queue, std::vector<u32>& mqd) {
  constexpr u32 kRegisters[] = {
      abi::mqd_compute_static_thread_mgmt_se0,     abi::mqd_compute_static_thread_mgmt_se1,
      abi::mqd_compute_static_thread_mgmt_se2,     abi::mqd_compute_static_thread_mgmt_se3,
      abi::mqd_compute_static_thread_mgmt_se4,     abi::mqd_compute_static_thread_mgmt_se4 + 1,
      abi::mqd_compute_static_thread_mgmt_se4 + 2, abi::mqd_compute_static_thread_mgmt_se4 + 3};
  const bool masked = !queue.cu_mask.empty();
  for (const u32 at : kRegisters) {
    mqd[at] = masked ? 0 : ~u32{0};
  }
  const u32 engines = queue.device->node.profile->shader_engines;
  const u32 cus = queue.device->node.config.cus;
  for (u32 cu = 0; masked && cu < cus; ++cu) {
    if (cu / 32 < queue.cu_mask.size() && queue.cu_mask[cu / 32] >> cu % 32 & 1) {
      mqd[kRegisters[cu % engines]] |= 1u << (cu / engines);
    }
  }
}

void set_save_area(const Queue& queue, std::vector<u32>& mqd) {
  if (!queue.ctx_save_address) {
    return;
  }
  const WaveState saved = wave_state(queue);
  mqd[abi::mqd_hqd_persistent_state] |= 1u << 30;  // QSWITCH_MODE
  mqd[abi::mqd_hqd_ctx_save_base_addr_lo] = low(queue.ctx_save_address);
  mqd[abi::mqd_hqd_ctx_save_base_addr_hi] = high(queue.ctx_save_address);
  mqd[abi::mqd_hqd_ctx_save_size] = queue.ctx_save_size;
  mqd[abi::mqd_hqd_cntl_stack_size] = queue.ctl_stack_size;
  mqd[abi::mqd_hqd_cntl_stack_offset] = queue.ctl_stack_size - saved.ctl_stack_used;
  mqd[abi::mqd_hqd_wg_state_offset] = queue.ctl_stack_size + saved.save_area_used;
}

// init_mqd and update_mqd of kfd_mqd_manager_v9.c. The vmid stays 0: the scheduler chooses it.
std::vector<u32> compute_image(const Queue& queue) {
  const u32 aql_shift = is_aql(queue) ? 4 : 0;  // AQL counts packets of 16 dwords
  const u64 rptr = read_guest(queue, queue.read_ptr) << aql_shift;
  const u64 wptr = read_guest(queue, queue.write_ptr) << aql_shift;
  std::vector<u32> mqd(abi::kComputeMqdDwords);
  mqd[abi::mqd_header] = 0xc0310800;
  mqd[abi::mqd_compute_pipelinestat_enable] = 1;
  mqd[abi::mqd_compute_pgm_rsrc2] = queue.device->tba ? 1u << 6 : 0;  // TRAP_PRESENT
  set_cu_masks(queue, mqd);
  mqd[abi::mqd_base_addr_lo] = low(queue.mqd_address);
  mqd[abi::mqd_base_addr_hi] = high(queue.mqd_address);
  mqd[abi::mqd_hqd_active] = queue.is_active;
  mqd[abi::mqd_hqd_persistent_state] = 0x5301;  // PRELOAD_REQ, PRELOAD_SIZE 0x53
  mqd[abi::mqd_hqd_pipe_priority] = pipe_priority(queue.priority);
  mqd[abi::mqd_hqd_queue_priority] = queue.priority;
  mqd[abi::mqd_hqd_quantum] = 0x111;  // enabled, scale 1, duration 1
  mqd[abi::mqd_hqd_pq_base_lo] = low(queue.ring_base >> 8);
  mqd[abi::mqd_hqd_pq_base_hi] = high(queue.ring_base >> 8);
  mqd[abi::mqd_hqd_pq_rptr] = low(rptr);
  mqd[abi::mqd_hqd_pq_rptr_report_addr_lo] = low(queue.read_ptr);
  mqd[abi::mqd_hqd_pq_rptr_report_addr_hi] = high(queue.read_ptr);
  mqd[abi::mqd_hqd_pq_wptr_poll_addr_lo] = low(queue.write_ptr);
  mqd[abi::mqd_hqd_pq_wptr_poll_addr_hi] = high(queue.write_ptr);
  mqd[abi::mqd_hqd_pq_doorbell_control] =
      doorbell_dword_offset(*queue.device, queue.doorbell_slot) << 2 | (is_aql(queue) ? 2 : 0);
  mqd[abi::mqd_hqd_pq_control] = pq_control(queue);
  mqd[abi::mqd_hqd_ib_control] = 3u << 20 | 1u << 23;
  mqd[abi::mqd_hqd_hq_status0] = 1u << 14;  // the CP sets up the dispatch pointer
  mqd[abi::mqd_control] = 1u << 8;          // PRIV_STATE
  mqd[abi::mqd_hqd_eop_base_addr_lo] = low(queue.eop_address >> 8);
  mqd[abi::mqd_hqd_eop_base_addr_hi] = high(queue.eop_address >> 8);
  mqd[abi::mqd_hqd_eop_control] =
      queue.eop_size ? std::min(0xau, log2_dwords(queue.eop_size) - 1) : 0;
  set_save_area(queue, mqd);
  mqd[abi::mqd_hqd_aql_control] = is_aql(queue);
  mqd[abi::mqd_hqd_pq_wptr_lo] = low(wptr);
  mqd[abi::mqd_hqd_pq_wptr_hi] = high(wptr);
  return mqd;
}

std::vector<u32> sdma_image(const Queue& queue) {
  constexpr u32 kRptrWriteback = 1u << 12, kRptrWritebackTimer = 6u << 16;
  const u64 rptr = read_guest(queue, queue.read_ptr);
  const u64 wptr = read_guest(queue, queue.write_ptr);
  std::vector<u32> mqd(abi::kSdmaMqdDwords);
  mqd[abi::sdma_mqd_rb_cntl] =
      log2_dwords(queue.ring_size) << 1 | kRptrWriteback | kRptrWritebackTimer;
  mqd[abi::sdma_mqd_rb_base] = low(queue.ring_base >> 8);
  mqd[abi::sdma_mqd_rb_base_hi] = high(queue.ring_base >> 8);
  mqd[abi::sdma_mqd_rb_rptr] = low(rptr);
  mqd[abi::sdma_mqd_rb_rptr_hi] = high(rptr);
  mqd[abi::sdma_mqd_rb_wptr] = low(wptr);
  mqd[abi::sdma_mqd_rb_wptr_hi] = high(wptr);
  mqd[abi::sdma_mqd_rb_rptr_addr_lo] = low(queue.read_ptr);
  mqd[abi::sdma_mqd_rb_rptr_addr_hi] = high(queue.read_ptr);
  mqd[abi::sdma_mqd_doorbell_offset] = doorbell_dword_offset(*queue.device, queue.doorbell_slot)
                                       << 2;
  mqd[abi::sdma_mqd_dummy_reg] = 0xf;
  mqd[abi::sdma_mqd_engine_id] = queue.sdma_engine;
  mqd[abi::sdma_mqd_queue_id] = queue.sdma_queue;
  return mqd;
}

void append_map_process(std::vector<u32>& ib, const ProcessDevice& device) {
  const bool aldebaran = device.node.profile->per_vmid_debug;
  const u32 dwords = aldebaran ? abi::kMapProcessAldebaranDwords : abi::kMapProcessDwords;
  constexpr u32 kQuantum = 10, kSdmaEnable = 1u << 7, kUnaligned = 3u << 2,
                kRetryDisable = 1u << 12;
  constexpr u32 kShMemBases = 1u << 16 | 2;  // shared, private aperture >> 48
  std::vector<u32> packet(dwords);
  packet[0] = abi::pm4_header(abi::kOpMapProcess, dwords);
  packet[1] = (device.process.pasid & 0xffff) | kQuantum << 25;
  packet[4] = kShMemBases;
  packet[5] = kUnaligned | kRetryDisable;
  if (device.tba) {
    packet[6] = low(device.tba >> 8);
    packet[7] = high(device.tba >> 8);
    packet[8] = low(device.tma >> 8);
    packet[9] = high(device.tma >> 8);
  }
  packet[13] = (device.num_gws & 0x7f) | kSdmaEnable | static_cast<u32>(device.queues.size()) << 22;
  ib.insert(ib.end(), packet.begin(), packet.end());
}

void append_map_queues(std::vector<u32>& ib, const Queue& queue) {
  constexpr u32 kHwsChoosesSlot = 1u << 4, kGwsControl = 1u << 12, kOneQueue = 1u << 29;
  constexpr u32 kSdma0 = 2;
  const u32 engine = queue.is_sdma() ? kSdma0 + queue.sdma_engine : 0;
  const u32 doorbell = doorbell_dword_offset(*queue.device, queue.doorbell_slot);
  ib.insert(ib.end(),
            {abi::pm4_header(abi::kOpMapQueues, abi::kMapQueuesDwords),
             kHwsChoosesSlot | (queue.is_gws ? kGwsControl : 0) | engine << 26 | kOneQueue,
             doorbell << 2, low(queue.mqd_address), high(queue.mqd_address), low(queue.write_ptr),
             high(queue.write_ptr)});
}

}  // namespace

std::vector<u32> mqd_image(const Queue& queue) {
  return queue.is_compute() ? compute_image(queue) : sdma_image(queue);
}

std::vector<u32> hqd_registers(const Queue* queue, const device::HqdView& view) {
  std::vector<u32> registers(abi::kHqdRegisters);
  const auto at = [&](u32 dword) -> u32& { return registers[dword - abi::mqd_base_addr_lo]; };
  if (!queue) {
    // What a slot shows that has not been used since reset.
    at(abi::mqd_hqd_persistent_state) = 0x0be05301;
    at(abi::mqd_hqd_pq_control) = 0x00308509;
    at(abi::mqd_hqd_ib_control) = 0x00300000;
    return registers;
  }
  const std::vector<u32> mqd = compute_image(*queue);
  std::copy_n(mqd.begin() + abi::mqd_base_addr_lo, registers.size(), registers.begin());
  const u32 shift = is_aql(*queue) ? 4 : 0;
  at(abi::mqd_hqd_active) = 1;
  at(abi::mqd_hqd_vmid) = view.vmid | view.vmid << 8;
  at(abi::mqd_hqd_pq_rptr) = low(view.rptr << shift);
  at(abi::mqd_hqd_pq_wptr_lo) = low(view.wptr << shift);
  at(abi::mqd_hqd_pq_wptr_hi) = high(view.wptr << shift);
  at(abi::mqd_hqd_pq_doorbell_control) |= 3u << 29;  // enabled, seen by the scheduler
  at(abi::mqd_hqd_pq_control) |= view.rptr == view.wptr ? 1u << 15 : 0;  // PQ_EMPTY
  return registers;
}

std::vector<u32> run_list_image(const Node& node, const Dqm::RunList& list) {
  std::vector<u32> ib;
  for (std::size_t i = 0; i < list.processes.size(); ++i) {
    append_map_process(ib, *list.processes[i]);
    for (const QueuePtr& queue : list.queues[i]) {
      append_map_queues(ib, *queue);
    }
  }
  if (list.chained) {
    const u32 dwords = static_cast<u32>(ib.size()) + abi::kRunListDwords;
    constexpr u32 kChain = 1u << 20, kIdleDisable = 1u << 22, kValid = 1u << 23;
    const u32 processes = std::min(static_cast<u32>(list.processes.size()), node.config.vmids);
    ib.insert(ib.end(), {abi::pm4_header(abi::kOpRunList, abi::kRunListDwords), low(list.address),
                         high(list.address),
                         dwords | kChain | kIdleDisable | kValid | (processes & 0xf) << 24});
  }
  return ib;
}

}  // namespace vgpu::driver
