// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The rest of what amdkfd links against: parameters of amdgpu, figures about
 * the device, and services that a device without hardware does not need. What
 * is not there says so with -EOPNOTSUPP. The list is that of 6.12; another
 * version fails to link and has to be looked at.
 */

#include <linux/idr.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include "sim.h"
#include "amdgpu_ids.h"
#include "amdgpu_mes.h"
#include "amdgpu_ras.h"
#include "amdgpu_xcp.h"
#include "kfd_priv.h"

/* Parameters and globals of amdgpu_drv.c */
int sched_policy = KFD_SCHED_POLICY_HWS;
module_param(sched_policy, int, 0444);
int hws_max_conc_proc = -1;
module_param(hws_max_conc_proc, int, 0444);
int queue_preemption_timeout_ms = 9000;
module_param(queue_preemption_timeout_ms, int, 0644);
int cwsr_enable = 1;
module_param(cwsr_enable, int, 0444);
int max_num_of_queues_per_device = KFD_MAX_NUM_OF_QUEUES_PER_DEVICE_DEFAULT;
uint amdgpu_sdma_phase_quantum = 32;
int send_sigterm;
int halt_if_hws_hang;
bool hws_gws_support;
bool debug_evictions;
int amdgpu_no_queue_eviction_on_vm_fault;
int amdgpu_emu_mode;
int amdgpu_exp_hw_support;
int amdgpu_use_xgmi_p2p;
const char *amdgpu_asic_name[CHIP_LAST + 1];

/* Figures */
uint32_t amdgpu_amdkfd_get_fw_version(struct amdgpu_device *adev,
				      enum kgd_engine_type type)
{
	return 0x60;	/* new enough for the debugger on gfx9.4.2 */
}

size_t amdgpu_amdkfd_get_available_memory(struct amdgpu_device *adev,
					  uint8_t xcp_id)
{
	return SZ_1G;
}

u64 amdgpu_amdkfd_xcp_memory_size(struct amdgpu_device *adev, int xcp_id)
{
	return SZ_1G;
}

void amdgpu_amdkfd_get_local_mem_info(struct amdgpu_device *adev,
				      struct kfd_local_mem_info *mem_info,
				      struct amdgpu_xcp *xcp)
{
	memset(mem_info, 0, sizeof(*mem_info));
	mem_info->local_mem_size_public = SZ_1G;
	mem_info->vram_width = 4096;
	mem_info->mem_clk_max = 1600;
}

uint64_t amdgpu_amdkfd_get_gpu_clock_counter(struct amdgpu_device *adev)
{
	return div_u64(ktime_get_ns(), 10);
}

uint32_t amdgpu_amdkfd_get_max_engine_clock_in_mhz(struct amdgpu_device *adev)
{
	return 1700;
}

int amdgpu_amdkfd_get_pcie_bandwidth_mbytes(struct amdgpu_device *adev, bool is_min)
{
	return 32000;
}

int amdgpu_amdkfd_get_xgmi_bandwidth_mbytes(struct amdgpu_device *dst,
					    struct amdgpu_device *src, bool is_min)
{
	return 0;
}

uint8_t amdgpu_amdkfd_get_xgmi_hops_count(struct amdgpu_device *dst,
					  struct amdgpu_device *src)
{
	return 1;
}

int amdgpu_amdkfd_get_tile_config(struct amdgpu_device *adev,
				  struct tile_config *config)
{
	memset(config, 0, sizeof(*config));
	return 0;
}

bool amdgpu_amdkfd_have_atomics_support(struct amdgpu_device *adev)
{
	return true;
}

bool amdgpu_amdkfd_bo_mapped_to_dev(void *drm_priv, struct kgd_mem *mem)
{
	return true;
}

bool amdgpu_amdkfd_is_fed(struct amdgpu_device *adev)
{
	return false;
}

bool amdgpu_sriov_xnack_support(struct amdgpu_device *adev)
{
	return false;
}

int amdgpu_amdkfd_send_close_event_drain_irq(struct amdgpu_device *adev,
					     uint32_t *payload)
{
	return -1;
}

uint64_t amdgpu_dpm_get_thermal_throttling_counter(struct amdgpu_device *adev)
{
	return 0;
}

int amdgpu_mes_doorbell_process_slice(struct amdgpu_device *adev)
{
	return SIM_DOORBELL_SLICE;
}

int amdgpu_xcp_get_inst_details(struct amdgpu_xcp *xcp,
				enum AMDGPU_XCP_IP_BLOCK ip, uint32_t *inst_mask)
{
	*inst_mask = 1;
	return 0;
}

int amdgpu_xcp_query_partition_mode(struct amdgpu_xcp_mgr *xcp_mgr, u32 flags)
{
	return 0;
}

void amdgpu_queue_mask_bit_to_mec_queue(struct amdgpu_device *adev, int bit,
					int *mec, int *pipe, int *queue)
{
	*queue = bit % 8;
	*pipe = (bit / 8) % 4;
	*mec = bit / 32;
}

int amdgpu_queue_mask_bit_to_set_resource_bit(struct amdgpu_device *adev,
					      int queue_bit)
{
	return queue_bit;
}

/* PASIDs */
static DEFINE_IDA(sim_pasids);

int amdgpu_pasid_alloc(unsigned int bits)
{
	return ida_alloc_range(&sim_pasids, 0x8001, 0xffff, GFP_KERNEL);
}

void amdgpu_pasid_free(u32 pasid)
{
	ida_free(&sim_pasids, pasid);
}

/* GWS: an object, never used */
int amdgpu_amdkfd_alloc_gws(struct amdgpu_device *adev, size_t size, void **mem_obj)
{
	*mem_obj = kzalloc(sizeof(u64), GFP_KERNEL);
	return *mem_obj ? 0 : -ENOMEM;
}

void amdgpu_amdkfd_free_gws(struct amdgpu_device *adev, void *mem_obj)
{
	kfree(mem_obj);
}

int amdgpu_amdkfd_add_gws_to_process(void *info, void *gws, struct kgd_mem **mem)
{
	return -EOPNOTSUPP;
}

int amdgpu_amdkfd_remove_gws_from_process(void *info, void *mem)
{
	return 0;
}

/* Not there */
int amdgpu_amdkfd_criu_resume(void *p)
{
	return -EOPNOTSUPP;
}

int amdgpu_amdkfd_get_dmabuf_info(struct amdgpu_device *adev, int dma_buf_fd,
				  struct amdgpu_device **dmabuf_adev,
				  uint64_t *bo_size, void *metadata_buffer,
				  size_t buffer_size, uint32_t *metadata_size,
				  uint32_t *flags, int8_t *xcp_id)
{
	return -EOPNOTSUPP;
}

int amdgpu_amdkfd_gpuvm_export_dmabuf(struct kgd_mem *mem, struct dma_buf **dmabuf)
{
	return -EOPNOTSUPP;
}

int amdgpu_amdkfd_gpuvm_get_vm_fault_info(struct amdgpu_device *adev,
					  struct kfd_vm_fault_info *info)
{
	return -EOPNOTSUPP;
}

int amdgpu_amdkfd_gpuvm_import_dmabuf_fd(struct amdgpu_device *adev, int fd,
					 uint64_t va, void *drm_priv,
					 struct kgd_mem **mem, uint64_t *size,
					 uint64_t *mmap_offset)
{
	return -EOPNOTSUPP;
}

int amdgpu_amdkfd_submit_ib(struct amdgpu_device *adev, enum kgd_engine_type engine,
			    uint32_t vmid, uint64_t gpu_addr, uint32_t *ib_cmd,
			    uint32_t ib_len)
{
	return -EOPNOTSUPP;
}

int amdgpu_ttm_tt_get_userptr(const struct ttm_buffer_object *tbo, uint64_t *user_addr)
{
	return -EINVAL;
}

struct amdgpu_task_info *amdgpu_vm_get_task_info_pasid(struct amdgpu_device *adev,
						       u32 pasid)
{
	return NULL;
}

/* Nothing to do */
void amdgpu_amdkfd_set_compute_idle(struct amdgpu_device *adev, bool idle) {}
void amdgpu_amdkfd_gpuvm_destroy_cb(struct amdgpu_device *adev, struct amdgpu_vm *vm) {}
void amdgpu_amdkfd_gpuvm_unmap_gtt_bo_from_kernel(struct kgd_mem *mem) {}
void amdgpu_amdkfd_block_mmu_notifications(void *p) {}
void amdgpu_amdkfd_debug_mem_fence(struct amdgpu_device *adev) {}
void amdgpu_device_flush_hdp(struct amdgpu_device *adev, struct amdgpu_ring *ring) {}
void amdgpu_gfx_off_ctrl(struct amdgpu_device *adev, bool enable) {}
void amdgpu_vm_put_task_info(struct amdgpu_task_info *task_info) {}

int amdgpu_amdkfd_gpuvm_dmaunmap_mem(struct kgd_mem *mem, void *drm_priv)
{
	return 0;
}

int amdgpu_amdkfd_gpuvm_sync_memory(struct amdgpu_device *adev,
				    struct kgd_mem *mem, bool intr)
{
	return 0;
}

int amdgpu_amdkfd_gpuvm_restore_process_bos(void *process_info,
					    struct dma_fence __rcu **ef)
{
	return 0;
}

int amdgpu_vm_flush_compute_tlb(struct amdgpu_device *adev, struct amdgpu_vm *vm,
				uint32_t flush_type, uint32_t xcc_mask)
{
	return 0;
}

void amdgpu_amdkfd_ras_poison_consumption_handler(struct amdgpu_device *adev,
						  enum amdgpu_ras_block block,
						  uint32_t reset)
{
}

void amdgpu_amdkfd_ras_pasid_poison_consumption_handler(
		struct amdgpu_device *adev, enum amdgpu_ras_block block,
		uint16_t pasid, pasid_notify pasid_fn, void *data, uint32_t reset)
{
}

u64 amdgpu_ras_acquire_event_id(struct amdgpu_device *adev, enum ras_event_type type)
{
	return 0;
}

void amdgpu_ras_event_log_print(struct amdgpu_device *adev, u64 event_id,
				const char *fmt, ...)
{
}

int amdgpu_ras_mark_ras_event_caller(struct amdgpu_device *adev,
				     enum ras_event_type type, const void *caller)
{
	return 0;
}

int amdgpu_mes_flush_shader_debugger(struct amdgpu_device *adev,
				     uint64_t process_context_addr)
{
	return 0;
}

int amdgpu_mes_set_shader_debugger(struct amdgpu_device *adev,
				   uint64_t process_context_addr,
				   uint32_t spi_gdbg_per_vmid_cntl,
				   const uint32_t *tcp_watch_cntl, uint32_t flags,
				   bool trap_en)
{
	return 0;
}

int amdgpu_mes_suspend(struct amdgpu_device *adev)
{
	return 0;
}

int amdgpu_mes_resume(struct amdgpu_device *adev)
{
	return 0;
}

void amdgpu_reset_get_desc(struct amdgpu_reset_context *rst_ctxt, char *buf, size_t len)
{
	if (len)
		buf[0] = '\0';
}

int kfd_debugfs_kfd_mem_limits(struct seq_file *m, void *data)
{
	return 0;
}
