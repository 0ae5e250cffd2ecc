// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The scheduler of gfx11 and later: MES. amdkfd adds and removes queues one by
 * one through adev->mes.funcs and waits for each answer, so what mes_v11_0.c
 * does with a ring and a fence is a function call here. A queue runs from the
 * moment it is added until its removal begins. Removing takes a settable time,
 * and MES can be told not to answer.
 *
 * A thread stands for the packet processors (aql.c).
 */

#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include "sim.h"
#include "amdgpu_mes.h"
#include "kfd_priv.h"
#include "kfd_device_queue_manager.h"
#include "mes_v11_api_def.h"

/* What the driver asks of the firmware before it allows a debugger. */
#define SIM_MES_API_VERSION	14
#define SIM_MES_VERSION		64

static uint mes_fail;
module_param(mes_fail, uint, 0644);
MODULE_PARM_DESC(mes_fail, "MES does not answer the n-th packet from now on; 0: answers all");

/* Called with state_lock held, once per packet. */
static bool answers(void)
{
	if (sim_firmware_hangs())
		return false;

	return !mes_fail || --mes_fail;
}

static struct sim_mapped_queue *find_queue(struct sim_gpu *gpu, u32 doorbell)
{
	unsigned int i;

	for (i = 0; i < gpu->num_mapped; i++)
		if (gpu->mapped[i].doorbell == doorbell)
			return &gpu->mapped[i];

	return NULL;
}

static int map_queue(struct sim_gpu *gpu, const struct mes_add_queue_input *input)
{
	struct sim_mapped_queue *queue;

	if (find_queue(gpu, input->doorbell_offset)) {
		gpu->counters.unknown++;
		return -EINVAL;
	}

	queue = sim_new_mapped_queue(gpu);
	if (!queue)
		return -ENOSPC;

	queue->pasid = input->process_id;
	queue->doorbell = input->doorbell_offset;
	queue->engine = input->queue_type != MES_QUEUE_TYPE_COMPUTE;
	queue->xccs = 1;
	queue->gang = input->gang_context_addr;
	queue->level = input->gang_global_priority_level;
	sim_aql_map(gpu, queue, input->mqd_addr);

	return 0;
}

static int unmap_queue(struct sim_gpu *gpu, const struct mes_remove_queue_input *input)
{
	struct sim_mapped_queue *queue = find_queue(gpu, input->doorbell_offset);

	if (!queue || queue->gang != input->gang_context_addr) {
		gpu->counters.unknown++;
		return -EINVAL;
	}

	*queue = gpu->mapped[--gpu->num_mapped];

	return 0;
}

static int add_hw_queue(struct amdgpu_mes *mes, struct mes_add_queue_input *input)
{
	struct sim_gpu *gpu = to_sim_gpu(mes->adev);
	int r;

	mutex_lock(&gpu->state_lock);
	gpu->counters.add_queue++;
	r = answers() ? map_queue(gpu, input) : -ETIMEDOUT;
	mutex_unlock(&gpu->state_lock);

	return r;
}

static int remove_hw_queue(struct amdgpu_mes *mes, struct mes_remove_queue_input *input)
{
	struct sim_gpu *gpu = to_sim_gpu(mes->adev);
	int r;

	mutex_lock(&gpu->state_lock);
	gpu->counters.remove_queue++;
	r = answers() ? unmap_queue(gpu, input) : -ETIMEDOUT;
	mutex_unlock(&gpu->state_lock);

	sim_wait_for_unmap(gpu);

	return r;
}

/* amdkfd calls no other. */
static const struct amdgpu_mes_funcs sim_mes_funcs = {
	.add_hw_queue = add_hw_queue,
	.remove_hw_queue = remove_hw_queue,
};

static int sim_mes_thread(void *data)
{
	struct sim_gpu *gpu = data;

	while (!kthread_should_stop()) {
		mutex_lock(&gpu->state_lock);
		sim_aql_step(gpu);
		mutex_unlock(&gpu->state_lock);
		usleep_range(50, 100);
	}

	return 0;
}

int sim_mes_init(struct sim_gpu *gpu)
{
	struct amdgpu_mes *mes = &gpu->adev.mes;
	struct task_struct *thread;

	mes->adev = &gpu->adev;
	mes->funcs = &sim_mes_funcs;
	mes->sched_version = SIM_MES_API_VERSION << AMDGPU_MES_API_VERSION_SHIFT |
			     SIM_MES_VERSION;
	mutex_init(&mes->mutex_hidden);

	thread = kthread_run(sim_mes_thread, gpu, "kfd_sim/%d", gpu->index);
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	gpu->mes_thread = thread;

	return 0;
}

/* With MES amdkfd has no packet manager, and leaves its lock as it was
 * allocated. Its debugfs file rls takes the lock all the same, which a kernel
 * that checks locks reports: a fault of the stock driver.
 */
void sim_mes_init_unused_lock(struct sim_gpu *gpu)
{
	mutex_init(&gpu->adev.kfd.dev->nodes[0]->dqm->packet_mgr.lock);
}

void sim_mes_fini(struct sim_gpu *gpu)
{
	if (gpu->mes_thread)
		kthread_stop(gpu->mes_thread);
	gpu->mes_thread = NULL;
}
