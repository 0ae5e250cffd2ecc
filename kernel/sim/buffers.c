// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Buffers of processes: kernel memory that stands for VRAM and GTT, and the
 * process's own memory. Small buffers of the latter (rings, indices, signals)
 * are pinned and mapped, so that the packet processor (aql.c) reaches them from
 * its own thread.
 */

#include <linux/mm.h>
#include <linux/vmalloc.h>
#include "sim.h"
#include "kfd_priv.h"

static void release_memory(struct sim_mem *m)
{
	if (m->num_pages) {
		vunmap(m->cpu);
		unpin_user_pages(m->pages, m->num_pages);
	} else {
		vfree(m->cpu);
	}
}

static int pin_user_memory(struct sim_mem *m, u64 address)
{
	int wanted = DIV_ROUND_UP_ULL(m->size, PAGE_SIZE);
	int r;

	if (wanted > SIM_MAX_PINNED_PAGES || !PAGE_ALIGNED(address))
		return 0;

	r = pin_user_pages_fast(address, wanted, FOLL_WRITE | FOLL_LONGTERM, m->pages);
	if (r > 0 && r < wanted)
		unpin_user_pages(m->pages, r);
	if (r != wanted)
		return r < 0 ? r : -EFAULT;

	m->cpu = vmap(m->pages, wanted, VM_MAP, PAGE_KERNEL);
	if (!m->cpu) {
		unpin_user_pages(m->pages, wanted);
		return -ENOMEM;
	}
	m->num_pages = wanted;

	return 0;
}

static int back_memory(struct sim_mem *m, u64 user_address)
{
	if (m->mem.alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR)
		return pin_user_memory(m, user_address);

	m->cpu = vzalloc(m->size);

	return m->cpu ? 0 : -ENOMEM;
}

/* @offset: in, the address of user memory; out, for mmap */
int amdgpu_amdkfd_gpuvm_alloc_memory_of_gpu(
		struct amdgpu_device *adev, uint64_t va, uint64_t size,
		void *drm_priv, struct kgd_mem **mem, uint64_t *offset,
		uint32_t flags, bool criu_resume)
{
	struct sim_mem *m = kzalloc(sizeof(*m), GFP_KERNEL);
	int r;

	if (!m)
		return -ENOMEM;

	mutex_init(&m->mem.lock);
	m->mem.va = va;
	m->mem.alloc_flags = flags;
	m->size = size;
	m->mem.bo = sim_bo_create(adev, size);
	r = m->mem.bo ? back_memory(m, offset ? *offset : 0) : -ENOMEM;
	if (r) {
		amdgpu_bo_unref(&m->mem.bo);
		kfree(m);
		return r;
	}

	*mem = &m->mem;
	if (offset)
		*offset = 0;

	return 0;
}

int amdgpu_amdkfd_gpuvm_free_memory_of_gpu(struct amdgpu_device *adev,
					   struct kgd_mem *mem, void *drm_priv,
					   uint64_t *size)
{
	struct sim_mem *m = container_of(mem, struct sim_mem, mem);

	if (mem->mapped_to_gpu_memory)
		return -EBUSY;

	if (size)
		*size = 0;
	amdgpu_bo_unref(&mem->bo);
	release_memory(m);
	kfree(m);

	return 0;
}

int amdgpu_amdkfd_gpuvm_map_gtt_bo_to_kernel(struct kgd_mem *mem, void **kptr,
					     uint64_t *size)
{
	struct sim_mem *m = container_of(mem, struct sim_mem, mem);

	if (!m->cpu)
		return -EINVAL;

	*kptr = m->cpu;
	if (size)
		*size = m->size;

	return 0;
}
