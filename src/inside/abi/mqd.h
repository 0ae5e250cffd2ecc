// The memory queue descriptor (MQD) of a gfx9 compute queue as dwords, the HQD registers that
// mirror part of it, and the PM4 packets of a run list. Data only.
//
// Upstream: struct v9_mqd and v9_sdma_mqd in drivers/gpu/drm/amd/include/v9_structs.h,
// kfd_pm4_headers_ai.h and kfd_pm4_headers_aldebaran.h (Linux 6.12). The compute offsets hold for
// v10, v11 and v12 too.
#pragma once

#include "libc/types.h"

namespace gp::abi {

constexpr u32 kComputeMqdDwords = 512;
constexpr u32 kSdmaMqdDwords = 128;

// clang-format off
enum MqdDword : u32 {
  mqd_header                         = 0,
  mqd_compute_pipelinestat_enable    = 11,
  mqd_compute_pgm_rsrc2              = 20,
  mqd_compute_static_thread_mgmt_se0 = 23,
  mqd_compute_static_thread_mgmt_se1 = 24,
  mqd_compute_static_thread_mgmt_se2 = 26,
  mqd_compute_static_thread_mgmt_se3 = 27,
  mqd_compute_static_thread_mgmt_se4 = 39,  // to se7
  mqd_base_addr_lo                   = 128,  // the first of the HQD registers
  mqd_base_addr_hi                   = 129,
  mqd_hqd_active                     = 130,
  mqd_hqd_vmid                       = 131,  // [3:0] vmid, [11:8] of the indirect buffer
  mqd_hqd_persistent_state           = 132,  // bit 30 QSWITCH_MODE: waves are saved at unmap
  mqd_hqd_pipe_priority              = 133,  // 0 low, 1 medium, 2 high
  mqd_hqd_queue_priority             = 134,  // 0..15
  mqd_hqd_quantum                    = 135,
  mqd_hqd_pq_base_lo                 = 136,  // ring address >> 8
  mqd_hqd_pq_base_hi                 = 137,
  mqd_hqd_pq_rptr                    = 138,  // dwords
  mqd_hqd_pq_rptr_report_addr_lo     = 139,
  mqd_hqd_pq_rptr_report_addr_hi     = 140,
  mqd_hqd_pq_wptr_poll_addr_lo       = 141,
  mqd_hqd_pq_wptr_poll_addr_hi       = 142,
  mqd_hqd_pq_doorbell_control        = 143,  // [27:2] doorbell, in dwords of the BAR
  mqd_hqd_pq_control                 = 145,  // [5:0] log2 of the ring's dwords, minus 1
  mqd_hqd_ib_control                 = 149,
  mqd_hqd_iq_timer                   = 150,
  mqd_hqd_hq_status0                 = 160,
  mqd_control                        = 162,
  mqd_hqd_eop_base_addr_lo           = 165,
  mqd_hqd_eop_base_addr_hi           = 166,
  mqd_hqd_eop_control                = 167,
  mqd_hqd_ctx_save_base_addr_lo      = 171,
  mqd_hqd_ctx_save_base_addr_hi      = 172,
  mqd_hqd_ctx_save_control           = 173,
  mqd_hqd_cntl_stack_offset          = 174,
  mqd_hqd_cntl_stack_size            = 175,
  mqd_hqd_wg_state_offset            = 176,  // saved bytes: this minus cntl_stack_size
  mqd_hqd_ctx_save_size              = 177,
  mqd_hqd_error                      = 179,
  mqd_hqd_aql_control                = 181,
  mqd_hqd_pq_wptr_lo                 = 182,
  mqd_hqd_pq_wptr_hi                 = 183,
};

enum SdmaMqdDword : u32 {
  sdma_mqd_rb_cntl          = 0,
  sdma_mqd_rb_base          = 1,
  sdma_mqd_rb_base_hi       = 2,
  sdma_mqd_rb_rptr          = 3,
  sdma_mqd_rb_rptr_hi       = 4,
  sdma_mqd_rb_wptr          = 5,
  sdma_mqd_rb_wptr_hi       = 6,
  sdma_mqd_rb_rptr_addr_hi  = 8,
  sdma_mqd_rb_rptr_addr_lo  = 9,
  sdma_mqd_doorbell         = 18,
  sdma_mqd_doorbell_offset  = 22,
  sdma_mqd_dummy_reg        = 27,
  sdma_mqd_engine_id        = 126,
  sdma_mqd_queue_id         = 127,
};
// clang-format on

// debugfs hqds prints the registers CP_MQD_BASE_ADDR to CP_HQD_PQ_WPTR_HI; register i is MQD dword
// mqd_base_addr_lo + i.
constexpr u32 kHqdRegisters = 56;
constexpr u32 kHqdFirstAddress = 0xc914;  // bytes, gfx9, first XCC

// Run list packets: type 3 header, opcode in [15:8], dwords minus 2 in [29:16].
constexpr u32 kOpMapProcess = 0xa1, kOpMapQueues = 0xa2, kOpRunList = 0xa5;
constexpr u32 kMapProcessDwords = 16;           // gfx9
constexpr u32 kMapProcessAldebaranDwords = 21;  // 9.4.2 and later
constexpr u32 kMapQueuesDwords = 7;
constexpr u32 kRunListDwords = 4;
constexpr u32 pm4_header(u32 opcode, u32 dwords) {
  return 3u << 30 | (dwords - 2) << 16 | opcode << 8;
}

}  // namespace gp::abi
