// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * GPU reset, with amdkfd told before and after as amdgpu_device_gpu_recover()
 * does: whatever was mapped is gone, and the kernel's queue with it.
 */

#include <linux/workqueue.h>
#include "sim.h"
#include "amdgpu_reset.h"

static void sim_reset_gpu(struct sim_gpu *gpu)
{
	struct amdgpu_reset_context context = {};

	sim_firmware_stop(gpu);
	kgd2kfd_pre_reset(gpu->adev.kfd.dev, &context);
	if (kgd2kfd_post_reset(gpu->adev.kfd.dev))
		dev_err(gpu->adev.dev, "kfd_sim: amdkfd does not start again\n");
}

static void sim_reset(struct work_struct *work)
{
	struct sim_gpu *gpu = container_of(work, struct sim_gpu, reset_work);
	int i, first = sim_hive ? 0 : gpu->index;
	int end = sim_hive ? sim_num_gpus : gpu->index + 1;

	down_write(&gpu->reset_domain.sem);
	for (i = first; i < end; i++)
		sim_reset_gpu(sim_gpus[i]);
	up_write(&gpu->reset_domain.sem);

	/* Tests look for the count. */
	for (i = first; i < end; i++) {
		mutex_lock(&sim_gpus[i]->state_lock);
		sim_gpus[i]->counters.gpu_reset++;
		mutex_unlock(&sim_gpus[i]->state_lock);
	}
}

void sim_reset_init(struct sim_gpu *gpu)
{
	INIT_WORK(&gpu->reset_work, sim_reset);
}

void amdgpu_amdkfd_gpu_reset(struct amdgpu_device *adev)
{
	struct sim_gpu *gpu = to_sim_gpu(adev);

	if (sim_hive)
		gpu = sim_gpus[0];
	queue_work(gpu->reset_domain.wq, &gpu->reset_work);
}
