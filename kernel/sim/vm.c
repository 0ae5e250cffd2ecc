// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Processes and their GPU address spaces. The render node is a misc device; a file of
 * it stands for a GPU address space and keeps the list of what is mapped in
 * it, which kfd_queue_acquire_buffers() looks up.
 */

#include <linux/dma-fence.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/vmalloc.h>
#include <drm/drm_file.h>
#include "sim.h"
#include "kfd_priv.h"

struct sim_file {
	struct drm_file drm;	/* first: private_data of the file */
	struct list_head list;	/* of sim_files */
	struct amdgpu_fpriv fpriv;
	struct mutex lock;
	struct list_head mappings;
};

struct sim_mapping {
	struct list_head list;
	struct amdgpu_bo_va bo_va;
	struct amdgpu_bo_va_mapping mapping;
	struct kgd_mem *mem;
};

static LIST_HEAD(sim_files);
static DEFINE_MUTEX(sim_files_lock);	/* taken before the lock of a file */

void sim_vm_lock(void)
{
	mutex_lock(&sim_files_lock);
}

void sim_vm_unlock(void)
{
	mutex_unlock(&sim_files_lock);
}

static void *address_in_file(struct sim_file *file, u64 va, u64 bytes)
{
	struct sim_mapping *map;
	struct sim_mem *m;
	void *cpu = NULL;

	mutex_lock(&file->lock);
	list_for_each_entry(map, &file->mappings, list) {
		m = container_of(map->mem, struct sim_mem, mem);
		if (m->cpu && va >= m->mem.va && va + bytes <= m->mem.va + m->size) {
			cpu = m->cpu + (va - m->mem.va);
			break;
		}
	}
	mutex_unlock(&file->lock);

	return cpu;
}

/*
 * Memory of a process as the packet processor sees it, or NULL. Valid until
 * sim_vm_unlock(): memory is unmapped and freed under the same lock.
 */
void *sim_vm_address(u32 pasid, u64 va, u64 bytes)
{
	struct sim_file *file;
	void *cpu;

	lockdep_assert_held(&sim_files_lock);
	list_for_each_entry(file, &sim_files, list) {
		if (file->fpriv.vm.pasid != pasid)
			continue;
		cpu = address_in_file(file, va, bytes);
		if (cpu)
			return cpu;
	}

	return NULL;
}

static struct sim_file *vm_to_file(struct amdgpu_vm *vm)
{
	return container_of(vm, struct sim_file, fpriv.vm);
}

static struct sim_file *drm_priv_to_file(void *drm_priv)
{
	return container_of((struct drm_file *)drm_priv, struct sim_file, drm);
}

static int sim_render_open(struct inode *inode, struct file *filep)
{
	struct sim_file *file = kvzalloc(sizeof(*file), GFP_KERNEL);

	if (!file)
		return -ENOMEM;

	mutex_init(&file->lock);
	INIT_LIST_HEAD(&file->mappings);
	file->fpriv.vm.root.bo = sim_bo_create(&sim_gpus[0]->adev, PAGE_SIZE);
	if (!file->fpriv.vm.root.bo) {
		kvfree(file);
		return -ENOMEM;
	}
	file->drm.driver_priv = &file->fpriv;
	filep->private_data = &file->drm;

	mutex_lock(&sim_files_lock);
	list_add(&file->list, &sim_files);
	mutex_unlock(&sim_files_lock);

	return 0;
}

static int sim_render_release(struct inode *inode, struct file *filep)
{
	struct sim_file *file = drm_priv_to_file(filep->private_data);

	mutex_lock(&sim_files_lock);
	list_del(&file->list);
	mutex_unlock(&sim_files_lock);
	WARN_ON(!list_empty(&file->mappings));
	amdgpu_bo_unref(&file->fpriv.vm.root.bo);
	kvfree(file);

	return 0;
}

const struct file_operations sim_render_fops = {
	.owner = THIS_MODULE,
	.open = sim_render_open,
	.release = sim_render_release,
};

int amdgpu_file_to_fpriv(struct file *filp, struct amdgpu_fpriv **fpriv)
{
	if (filp->f_op != &sim_render_fops)
		return -EINVAL;

	*fpriv = &drm_priv_to_file(filp->private_data)->fpriv;

	return 0;
}

/* The eviction fence: nobody evicts here, it is only signalled at the end. */
static const char *sim_fence_name(struct dma_fence *fence)
{
	return "kfd_sim";
}

static const struct dma_fence_ops sim_fence_ops = {
	.get_driver_name = sim_fence_name,
	.get_timeline_name = sim_fence_name,
};

static DEFINE_SPINLOCK(sim_fence_lock);

int amdgpu_amdkfd_gpuvm_acquire_process_vm(struct amdgpu_device *adev,
					   struct amdgpu_vm *avm,
					   void **process_info,
					   struct dma_fence **ef)
{
	struct amdkfd_process_info *info = *process_info;
	struct dma_fence *fence;

	if (avm->process_info)
		return -EINVAL;

	if (ef) {
		fence = kzalloc(sizeof(*fence), GFP_KERNEL);
		if (!fence)
			return -ENOMEM;
		dma_fence_init(fence, &sim_fence_ops, &sim_fence_lock,
			       dma_fence_context_alloc(1), 1);
		*ef = fence;
	}

	if (!info) {
		info = kzalloc(sizeof(*info), GFP_KERNEL);
		if (!info)
			return -ENOMEM;
		*process_info = info;
	}
	info->n_vms++;
	avm->process_info = info;

	return 0;
}

void amdgpu_amdkfd_gpuvm_release_process_vm(struct amdgpu_device *adev,
					    void *drm_priv)
{
	struct amdgpu_vm *vm = drm_priv_to_vm(drm_priv);

	if (vm->process_info && !--vm->process_info->n_vms)
		kfree(vm->process_info);
	vm->process_info = NULL;
}

int amdgpu_amdkfd_gpuvm_set_vm_pasid(struct amdgpu_device *adev,
				     struct amdgpu_vm *avm, u32 pasid)
{
	avm->pasid = pasid;

	return 0;
}

uint64_t amdgpu_amdkfd_gpuvm_get_process_page_dir(void *drm_priv)
{
	return 0x123000;
}

int amdgpu_amdkfd_gpuvm_map_memory_to_gpu(struct amdgpu_device *adev,
					  struct kgd_mem *mem, void *drm_priv)
{
	struct sim_mem *m = container_of(mem, struct sim_mem, mem);
	struct sim_file *file = drm_priv_to_file(drm_priv);
	struct sim_mapping *map = kzalloc(sizeof(*map), GFP_KERNEL);

	if (!map)
		return -ENOMEM;

	map->mem = mem;
	map->bo_va.base.bo = mem->bo;
	map->mapping.bo_va = &map->bo_va;
	map->mapping.start = mem->va >> AMDGPU_GPU_PAGE_SHIFT;
	map->mapping.last = ((mem->va + m->size) >> AMDGPU_GPU_PAGE_SHIFT) - 1;

	mutex_lock(&file->lock);
	list_add(&map->list, &file->mappings);
	mem->mapped_to_gpu_memory++;
	mutex_unlock(&file->lock);

	return 0;
}

int amdgpu_amdkfd_gpuvm_unmap_memory_from_gpu(struct amdgpu_device *adev,
					      struct kgd_mem *mem, void *drm_priv)
{
	struct sim_file *file = drm_priv_to_file(drm_priv);
	struct sim_mapping *map, *next;
	int r = 0;

	mutex_lock(&sim_files_lock);
	mutex_lock(&file->lock);
	list_for_each_entry_safe(map, next, &file->mappings, list) {
		if (map->mem != mem)
			continue;
		if (map->bo_va.queue_refcount) {
			r = -EBUSY;
			break;
		}
		list_del(&map->list);
		kfree(map);
		mem->mapped_to_gpu_memory--;
	}
	mutex_unlock(&file->lock);
	mutex_unlock(&sim_files_lock);

	return r;
}

/* The caller has reserved the root BO, which orders lookups against queue
 * references; the list has a lock of its own.
 */
struct amdgpu_bo_va_mapping *amdgpu_vm_bo_lookup_mapping(struct amdgpu_vm *vm,
							 uint64_t addr)
{
	struct sim_file *file = vm_to_file(vm);
	struct amdgpu_bo_va_mapping *found = NULL;
	struct sim_mapping *map;

	mutex_lock(&file->lock);
	list_for_each_entry(map, &file->mappings, list) {
		if (addr >= map->mapping.start && addr <= map->mapping.last) {
			found = &map->mapping;
			break;
		}
	}
	mutex_unlock(&file->lock);

	return found;
}

struct amdgpu_bo_va *amdgpu_vm_bo_find(struct amdgpu_vm *vm, struct amdgpu_bo *bo)
{
	struct sim_file *file = vm_to_file(vm);
	struct amdgpu_bo_va *found = NULL;
	struct sim_mapping *map;

	mutex_lock(&file->lock);
	list_for_each_entry(map, &file->mappings, list) {
		if (map->bo_va.base.bo == bo) {
			found = &map->bo_va;
			break;
		}
	}
	mutex_unlock(&file->lock);

	return found;
}
