// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory that amdkfd asks amdgpu for: GTT buffers (rings, MQDs, fences), which
 * are ordinary kernel memory with a made-up GPU address, and doorbells, which
 * are ordinary pages.
 */

#include <linux/vmalloc.h>
#include "sim.h"

struct sim_gtt {
	struct list_head list;
	u64 gpu_addr;
	u64 size;
	void *cpu;
	struct amdgpu_bo *user_bo;	/* mapped for the kernel; then there is no memory here */
};

struct sim_bo {
	struct amdgpu_bo bo;
	struct kref ref;
	struct sim_gpu *gpu;
	int slice;	/* of the doorbells, or -1 */
};

int amdgpu_amdkfd_alloc_gtt_mem(struct amdgpu_device *adev, size_t size,
				void **mem_obj, uint64_t *gpu_addr,
				void **cpu_ptr, bool mqd_gfx9)
{
	struct sim_gpu *gpu = to_sim_gpu(adev);
	struct sim_gtt *gtt;

	gtt = kzalloc(sizeof(*gtt), GFP_KERNEL);
	if (!gtt)
		return -ENOMEM;

	gtt->size = PAGE_ALIGN(size);
	gtt->cpu = vzalloc(gtt->size);
	if (!gtt->cpu) {
		kfree(gtt);
		return -ENOMEM;
	}

	spin_lock(&gpu->gtt_lock);
	gtt->gpu_addr = gpu->next_gpu_addr;
	gpu->next_gpu_addr += gtt->size + PAGE_SIZE;
	list_add(&gtt->list, &gpu->gtt);
	spin_unlock(&gpu->gtt_lock);

	*mem_obj = gtt;
	*gpu_addr = gtt->gpu_addr;
	*cpu_ptr = gtt->cpu;

	return 0;
}

void amdgpu_amdkfd_free_gtt_mem(struct amdgpu_device *adev, void **mem_obj)
{
	struct sim_gpu *gpu = to_sim_gpu(adev);
	struct sim_gtt *gtt = *mem_obj;

	if (!gtt)
		return;

	spin_lock(&gpu->gtt_lock);
	list_del(&gtt->list);
	spin_unlock(&gpu->gtt_lock);

	amdgpu_bo_unref(&gtt->user_bo);
	vfree(gtt->cpu);
	kfree(gtt);
	*mem_obj = NULL;
}

/* For MES: the write index of a queue where the firmware can always read it.
 * amdkfd only keeps @bo_gart, and gives it to amdgpu_amdkfd_free_gtt_mem().
 */
int amdgpu_amdkfd_map_gtt_bo_to_gart(struct amdgpu_bo *bo, struct amdgpu_bo **bo_gart)
{
	struct sim_gtt *gtt = kzalloc(sizeof(*gtt), GFP_KERNEL);
	struct sim_gpu *gpu = to_sim_gpu(amdgpu_ttm_adev(bo->tbo.bdev));

	if (!gtt)
		return -ENOMEM;

	gtt->user_bo = amdgpu_bo_ref(bo);
	spin_lock(&gpu->gtt_lock);
	list_add(&gtt->list, &gpu->gtt);
	spin_unlock(&gpu->gtt_lock);
	*bo_gart = (struct amdgpu_bo *)gtt;

	return 0;
}

/* NULL if no GTT buffer is there. */
void *sim_gpu_to_cpu(struct sim_gpu *gpu, u64 gpu_addr)
{
	struct sim_gtt *gtt;
	void *cpu = NULL;

	spin_lock(&gpu->gtt_lock);
	list_for_each_entry(gtt, &gpu->gtt, list) {
		if (gpu_addr >= gtt->gpu_addr &&
		    gpu_addr < gtt->gpu_addr + gtt->size) {
			cpu = gtt->cpu + (gpu_addr - gtt->gpu_addr);
			break;
		}
	}
	spin_unlock(&gpu->gtt_lock);

	return cpu;
}

struct amdgpu_bo *sim_bo_create(struct amdgpu_device *adev, u64 size)
{
	struct sim_bo *bo;

	bo = kzalloc(sizeof(*bo), GFP_KERNEL);
	if (!bo)
		return NULL;

	kref_init(&bo->ref);
	bo->gpu = to_sim_gpu(adev);
	bo->slice = -1;
	dma_resv_init(&bo->bo.tbo.base._resv);
	bo->bo.tbo.base.resv = &bo->bo.tbo.base._resv;
	bo->bo.tbo.base.size = size;
	bo->bo.tbo.bdev = &adev->mman.bdev;

	return &bo->bo;
}

static void sim_bo_free(struct kref *ref)
{
	struct sim_bo *bo = container_of(ref, struct sim_bo, ref);

	dma_resv_fini(&bo->bo.tbo.base._resv);
	kfree(bo);
}

struct amdgpu_bo *amdgpu_bo_ref(struct amdgpu_bo *bo)
{
	if (bo)
		kref_get(&container_of(bo, struct sim_bo, bo)->ref);

	return bo;
}

void amdgpu_bo_unref(struct amdgpu_bo **bo)
{
	if (*bo)
		kref_put(&container_of(*bo, struct sim_bo, bo)->ref, sim_bo_free);
	*bo = NULL;
}

/* Doorbells of the kernel and of processes, a slice of the doorbell BAR each. */
int amdgpu_bo_create_kernel(struct amdgpu_device *adev, unsigned long size,
			    int align, u32 domain, struct amdgpu_bo **bo_ptr,
			    u64 *gpu_addr, void **cpu_addr)
{
	struct sim_gpu *gpu = to_sim_gpu(adev);
	struct amdgpu_bo *bo;
	void *cpu;
	int slice;

	if (domain != AMDGPU_GEM_DOMAIN_DOORBELL || size > SIM_DOORBELL_SLICE)
		return -EOPNOTSUPP;

	bo = sim_bo_create(adev, size);
	if (!bo)
		return -ENOMEM;

	mutex_lock(&gpu->doorbell_lock);
	slice = find_first_zero_bit(gpu->doorbell_slices, SIM_DOORBELL_SLICES);
	if (slice < SIM_DOORBELL_SLICES)
		set_bit(slice, gpu->doorbell_slices);
	mutex_unlock(&gpu->doorbell_lock);
	if (slice >= SIM_DOORBELL_SLICES) {
		amdgpu_bo_unref(&bo);
		return -ENOSPC;
	}

	container_of(bo, struct sim_bo, bo)->slice = slice;
	cpu = gpu->doorbells + slice * SIM_DOORBELL_SLICE;
	memset(cpu, 0, SIM_DOORBELL_SLICE);
	if (cpu_addr)
		*cpu_addr = cpu;
	if (gpu_addr)
		*gpu_addr = slice * SIM_DOORBELL_SLICE;
	*bo_ptr = bo;

	return 0;
}

void amdgpu_bo_free_kernel(struct amdgpu_bo **bo, u64 *gpu_addr, void **cpu_addr)
{
	struct sim_bo *sim_bo;

	if (!*bo)
		return;

	sim_bo = container_of(*bo, struct sim_bo, bo);
	if (sim_bo->slice >= 0)
		clear_bit(sim_bo->slice, sim_bo->gpu->doorbell_slices);
	amdgpu_bo_unref(bo);
}

u64 amdgpu_bo_gpu_offset(struct amdgpu_bo *bo)
{
	struct sim_bo *sim_bo = container_of(bo, struct sim_bo, bo);

	return sim_bo->slice >= 0 ? sim_bo->slice * SIM_DOORBELL_SLICE : 0;
}

uint32_t amdgpu_doorbell_index_on_bar(struct amdgpu_device *adev,
				      struct amdgpu_bo *db_bo,
				      uint32_t doorbell_index, uint32_t db_size)
{
	return amdgpu_bo_gpu_offset(db_bo) / sizeof(u32) +
	       doorbell_index * DIV_ROUND_UP(db_size, 4);
}

int sim_memory_init(struct sim_gpu *gpu)
{
	spin_lock_init(&gpu->gtt_lock);
	INIT_LIST_HEAD(&gpu->gtt);
	mutex_init(&gpu->doorbell_lock);
	gpu->next_gpu_addr = 0x100000000ULL * (gpu->index + 1);
	gpu->doorbells = alloc_pages_exact(SIM_DOORBELL_BYTES,
					   GFP_KERNEL | __GFP_ZERO);

	return gpu->doorbells ? 0 : -ENOMEM;
}

void sim_memory_fini(struct sim_gpu *gpu)
{
	WARN_ON(!list_empty(&gpu->gtt));
	WARN_ON(!bitmap_empty(gpu->doorbell_slices, SIM_DOORBELL_SLICES));
	if (gpu->doorbells)
		free_pages_exact(gpu->doorbells, SIM_DOORBELL_BYTES);
}
