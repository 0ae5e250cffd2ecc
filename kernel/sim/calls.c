// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * kfd2kgd_calls: register accesses, none of which reach any register. With the
 * hardware scheduler only hiq_mqd_load matters.
 */

#include "sim.h"
#include "kfd_priv.h"

static void program_sh_mem_settings(struct amdgpu_device *adev, uint32_t vmid,
				    uint32_t sh_mem_config,
				    uint32_t sh_mem_ape1_base,
				    uint32_t sh_mem_ape1_limit,
				    uint32_t sh_mem_bases, uint32_t inst)
{
}

static int set_pasid_vmid_mapping(struct amdgpu_device *adev, u32 pasid,
				  unsigned int vmid, uint32_t inst)
{
	return 0;
}

static int init_interrupts(struct amdgpu_device *adev, uint32_t pipe_id, uint32_t inst)
{
	return 0;
}

static int hqd_load(struct amdgpu_device *adev, void *mqd, uint32_t pipe_id,
		    uint32_t queue_id, uint32_t __user *wptr, uint32_t wptr_shift,
		    uint32_t wptr_mask, struct mm_struct *mm, uint32_t inst)
{
	return 0;
}

static int hqd_sdma_load(struct amdgpu_device *adev, void *mqd,
			 uint32_t __user *wptr, struct mm_struct *mm)
{
	return 0;
}

static int dump_nothing(uint32_t (**dump)[2], uint32_t *n_regs)
{
	*dump = kcalloc(1, sizeof(**dump), GFP_KERNEL);
	*n_regs = 1;

	return *dump ? 0 : -ENOMEM;
}

static int hqd_dump(struct amdgpu_device *adev, uint32_t pipe_id, uint32_t queue_id,
		    uint32_t (**dump)[2], uint32_t *n_regs, uint32_t inst)
{
	return dump_nothing(dump, n_regs);
}

static int hqd_sdma_dump(struct amdgpu_device *adev, uint32_t engine_id,
			 uint32_t queue_id, uint32_t (**dump)[2], uint32_t *n_regs)
{
	return dump_nothing(dump, n_regs);
}

static bool hqd_is_occupied(struct amdgpu_device *adev, uint64_t queue_address,
			    uint32_t pipe_id, uint32_t queue_id, uint32_t inst)
{
	return false;
}

static int hqd_destroy(struct amdgpu_device *adev, void *mqd,
		       enum kfd_preempt_type reset_type, unsigned int timeout,
		       uint32_t pipe_id, uint32_t queue_id, uint32_t inst)
{
	return 0;
}

static bool hqd_sdma_is_occupied(struct amdgpu_device *adev, void *mqd)
{
	return false;
}

static int hqd_sdma_destroy(struct amdgpu_device *adev, void *mqd, unsigned int timeout)
{
	return 0;
}

static int wave_control_execute(struct amdgpu_device *adev, uint32_t gfx_index_val,
				uint32_t sq_cmd, uint32_t inst)
{
	return 0;
}

static bool get_atc_vmid_pasid_mapping_info(struct amdgpu_device *adev,
					    uint8_t vmid, uint16_t *p_pasid)
{
	*p_pasid = 0;
	return false;
}

static void set_vm_context_page_table_base(struct amdgpu_device *adev,
					   uint32_t vmid, uint64_t page_table_base)
{
}

static uint32_t switch_debug_trap(struct amdgpu_device *adev, bool flag, uint32_t vmid)
{
	return 0;
}

static int validate_trap_override_request(struct amdgpu_device *adev,
					  uint32_t trap_override,
					  uint32_t *trap_mask_supported)
{
	return 0;
}

static uint32_t set_wave_launch_trap_override(struct amdgpu_device *adev,
					      uint32_t vmid, uint32_t trap_override,
					      uint32_t trap_mask_bits,
					      uint32_t trap_mask_request,
					      uint32_t *trap_mask_prev,
					      uint32_t kfd_dbg_trap_cntl_prev)
{
	return 0;
}

static uint32_t set_wave_launch_mode(struct amdgpu_device *adev,
				     uint8_t wave_launch_mode, uint32_t vmid)
{
	return 0;
}

static void get_iq_wait_times(struct amdgpu_device *adev, uint32_t *wait_times,
			      uint32_t inst)
{
	*wait_times = 0x1234;
}

static void build_grace_period_packet_info(struct amdgpu_device *adev,
					   uint32_t wait_times, uint32_t grace_period,
					   uint32_t *reg_offset, uint32_t *reg_data)
{
	*reg_offset = 0x2c;
	*reg_data = grace_period;
}

static void program_trap_handler_settings(struct amdgpu_device *adev, uint32_t vmid,
					  uint64_t tba_addr, uint64_t tma_addr,
					  uint32_t inst)
{
}

/* Slot 0 of the first pipe stays with amdgpu (device.c). Only the first XCC is
 * looked at: all run the same.
 */
static unsigned int slot_index(uint32_t pipe_id, uint32_t queue_id)
{
	return pipe_id * 8 + queue_id - 1;
}

static uint64_t hqd_get_pq_addr(struct amdgpu_device *adev, uint32_t pipe_id,
				uint32_t queue_id, uint32_t inst)
{
	return inst ? 0 : sim_ring_in_slot(to_sim_gpu(adev), slot_index(pipe_id, queue_id));
}

static uint64_t hqd_reset(struct amdgpu_device *adev, uint32_t pipe_id,
			  uint32_t queue_id, uint32_t inst, unsigned int utimeout)
{
	return inst ? 0 : sim_reset_slot(to_sim_gpu(adev), slot_index(pipe_id, queue_id));
}

#define SIM_CALLS {								\
	.program_sh_mem_settings = program_sh_mem_settings,			\
	.set_pasid_vmid_mapping = set_pasid_vmid_mapping,			\
	.init_interrupts = init_interrupts,					\
	.hqd_load = hqd_load,							\
	.hiq_mqd_load = sim_hiq_load,						\
	.hqd_sdma_load = hqd_sdma_load,						\
	.hqd_dump = hqd_dump,							\
	.hqd_sdma_dump = hqd_sdma_dump,						\
	.hqd_is_occupied = hqd_is_occupied,					\
	.hqd_destroy = hqd_destroy,						\
	.hqd_sdma_is_occupied = hqd_sdma_is_occupied,				\
	.hqd_sdma_destroy = hqd_sdma_destroy,					\
	.wave_control_execute = wave_control_execute,				\
	.get_atc_vmid_pasid_mapping_info = get_atc_vmid_pasid_mapping_info,	\
	.set_vm_context_page_table_base = set_vm_context_page_table_base,	\
	.enable_debug_trap = switch_debug_trap,					\
	.disable_debug_trap = switch_debug_trap,				\
	.validate_trap_override_request = validate_trap_override_request,	\
	.set_wave_launch_trap_override = set_wave_launch_trap_override,		\
	.set_wave_launch_mode = set_wave_launch_mode,				\
	.get_iq_wait_times = get_iq_wait_times,					\
	.build_grace_period_packet_info = build_grace_period_packet_info,	\
	.program_trap_handler_settings = program_trap_handler_settings,		\
	.hqd_get_pq_addr = hqd_get_pq_addr,					\
	.hqd_reset = hqd_reset,							\
}

/* One per generation; device.c says which there are. */
const struct kfd2kgd_calls gfx_v7_kfd2kgd = SIM_CALLS;
const struct kfd2kgd_calls gfx_v8_kfd2kgd = SIM_CALLS;
const struct kfd2kgd_calls gfx_v9_kfd2kgd = SIM_CALLS;
const struct kfd2kgd_calls arcturus_kfd2kgd = SIM_CALLS;
const struct kfd2kgd_calls aldebaran_kfd2kgd = SIM_CALLS;
const struct kfd2kgd_calls gc_9_4_3_kfd2kgd = SIM_CALLS;
const struct kfd2kgd_calls gfx_v10_kfd2kgd = SIM_CALLS;
const struct kfd2kgd_calls gfx_v10_3_kfd2kgd = SIM_CALLS;
const struct kfd2kgd_calls gfx_v11_kfd2kgd = SIM_CALLS;
const struct kfd2kgd_calls gfx_v12_kfd2kgd = SIM_CALLS;
