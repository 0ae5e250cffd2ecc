// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * GPU reset, with amdkfd told before and after as amdgpu_device_gpu_recover()
 * does: whatever was mapped is gone, and the kernel's queue with it.
 */

#include <linux/workqueue.h>
#include "sim.h"
#include "amdgpu_reset.h"

static void sim_reset(struct work_struct *work)
{
	struct sim_gpu *gpu = container_of(work, struct sim_gpu, reset_work);
	struct amdgpu_reset_context context = {};

	down_write(&gpu->reset_domain.sem);
	sim_firmware_stop(gpu);
	kgd2kfd_pre_reset(gpu->adev.kfd.dev, &context);
	if (kgd2kfd_post_reset(gpu->adev.kfd.dev))
		dev_err(gpu->adev.dev, "kfd_sim: amdkfd does not start again\n");
	up_write(&gpu->reset_domain.sem);

	/* Tests look for the count. */
	mutex_lock(&gpu->state_lock);
	gpu->counters.gpu_reset++;
	mutex_unlock(&gpu->state_lock);
}

void sim_reset_init(struct sim_gpu *gpu)
{
	INIT_WORK(&gpu->reset_work, sim_reset);
}

void amdgpu_amdkfd_gpu_reset(struct amdgpu_device *adev)
{
	struct sim_gpu *gpu = to_sim_gpu(adev);

	queue_work(gpu->reset_domain.wq, &gpu->reset_work);
}
