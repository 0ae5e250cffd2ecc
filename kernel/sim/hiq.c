// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The kernel's queue (HIQ): a thread that takes the packets amdkfd writes to it,
 * and gives them to the hardware scheduler (firmware.c).
 */

#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include "sim.h"
#include "kfd_priv.h"
#include "v9_structs.h"

#define MAX_PACKET_DWORDS	64

/* A packet may wrap around the end of the ring: copy it out first. */
static void consume_packet(struct sim_gpu *gpu)
{
	struct sim_hiq *hiq = &gpu->hiq;
	u32 packet[MAX_PACKET_DWORDS];
	u32 header = hiq->ring[hiq->rptr % hiq->ring_dwords];
	u32 i, dwords = sim_packet_dwords(header);

	for (i = 0; i < min_t(u32, dwords, MAX_PACKET_DWORDS); i++)
		packet[i] = hiq->ring[(hiq->rptr + i) % hiq->ring_dwords];

	sim_execute_packet(gpu, packet);

	WRITE_ONCE(hiq->rptr, hiq->rptr + dwords);
	WRITE_ONCE(*hiq->rptr_report, (u32)(hiq->rptr % hiq->ring_dwords));
}

static int sim_hiq_thread(void *data)
{
	struct sim_gpu *gpu = data;
	struct sim_hiq *hiq = &gpu->hiq;

	while (!kthread_should_stop()) {
		if (READ_ONCE(*hiq->wptr) == hiq->rptr) {
			mutex_lock(&gpu->state_lock);
			sim_aql_step(gpu);
			mutex_unlock(&gpu->state_lock);
			usleep_range(50, 100);
			continue;
		}
		/* Pairs with the barrier before amdkfd rings the doorbell. */
		smp_rmb();
		consume_packet(gpu);
	}

	return 0;
}

bool sim_firmware_idle(struct sim_gpu *gpu)
{
	struct sim_hiq *hiq = &gpu->hiq;

	return !hiq->thread || READ_ONCE(*hiq->wptr) == READ_ONCE(hiq->rptr);
}

static int start_hiq(struct sim_gpu *gpu, const struct v9_mqd *m)
{
	struct sim_hiq *hiq = &gpu->hiq;
	struct task_struct *thread;

	hiq->ring = sim_gpu_to_cpu(gpu, sim_ring_address(m));
	hiq->ring_dwords = 2u << (m->cp_hqd_pq_control & 0x3f);
	hiq->rptr_report = sim_gpu_to_cpu(gpu,
			((u64)m->cp_hqd_pq_rptr_report_addr_hi << 32) |
			m->cp_hqd_pq_rptr_report_addr_lo);
	hiq->wptr = sim_gpu_to_cpu(gpu,
			((u64)m->cp_hqd_pq_wptr_poll_addr_hi << 32) |
			m->cp_hqd_pq_wptr_poll_addr_lo);
	hiq->rptr = 0;
	hiq->mqd = (struct v9_mqd *)m;
	if (!hiq->ring || !hiq->rptr_report || !hiq->wptr)
		return -EINVAL;

	thread = kthread_run(sim_hiq_thread, gpu, "kfd_sim/%d", gpu->index);
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	/* Firmware has a processor of its own: those who wait for it in a loop, at
	 * the priority of a work item, must not keep it from its work.
	 */
	set_user_nice(thread, MIN_NICE);
	hiq->thread = thread;

	return 0;
}

static int join_hiq(struct sim_gpu *gpu, const struct v9_mqd *m)
{
	if (!gpu->hiq.thread || sim_gpu_to_cpu(gpu, sim_ring_address(m)) != gpu->hiq.ring)
		return -EINVAL;

	return 0;
}

int sim_hiq_load(struct amdgpu_device *adev, void *mqd, u32 pipe_id,
		 u32 queue_id, u32 doorbell_off, u32 inst)
{
	struct sim_gpu *gpu = to_sim_gpu(adev);
	int r;

	if (gpu->hiq.xccs & BIT(inst))
		return -EBUSY;

	r = inst ? join_hiq(gpu, mqd) : start_hiq(gpu, mqd);
	if (!r)
		gpu->hiq.xccs |= BIT(inst);

	return r;
}

static void stop_hiq(struct sim_hiq *hiq)
{
	if (hiq->thread)
		kthread_stop(hiq->thread);
	hiq->thread = NULL;
}

int amdgpu_amdkfd_unmap_hiq(struct amdgpu_device *adev, u32 doorbell_off, u32 inst)
{
	struct sim_hiq *hiq = &to_sim_gpu(adev)->hiq;

	hiq->xccs &= ~BIT(inst);
	if (!inst)
		stop_hiq(hiq);

	return 0;
}

/* A reset: nothing is mapped, and the kernel's queue has to be loaded again. */
void sim_firmware_stop(struct sim_gpu *gpu)
{
	stop_hiq(&gpu->hiq);
	gpu->hiq.xccs = 0;
	mutex_lock(&gpu->state_lock);
	gpu->num_mapped = 0;
	gpu->stuck_doorbell = 0;
	gpu->stuck_pq = 0;
	mutex_unlock(&gpu->state_lock);
}
