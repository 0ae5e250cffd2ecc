// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The hardware scheduler: a thread that consumes the packets amdkfd writes to
 * the HIQ. It executes run lists as far as to know which queues are mapped,
 * takes a settable time for an unmap, and can be told to hang.
 *
 * An oversubscribed run list ends in a jump to itself. All its queues count as
 * mapped: they would be, in turns.
 */

#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include "sim.h"
#include "kfd_priv.h"
#include "kfd_pm4_headers_ai.h"
#include "kfd_pm4_headers_aldebaran.h"
#include "kfd_pm4_opcodes.h"
#include "v9_structs.h"

static uint unmap_delay_us;
module_param(unmap_delay_us, uint, 0644);
MODULE_PARM_DESC(unmap_delay_us, "Time an unmap takes, or the removal of a queue from MES");

static int slow_gpu = -1;
module_param(slow_gpu, int, 0644);
MODULE_PARM_DESC(slow_gpu, "The only GPU that takes unmap_delay_us; -1: all of them");

static bool hang;
module_param(hang, bool, 0644);
MODULE_PARM_DESC(hang, "Do not answer QUERY_STATUS, nor any packet to MES");

#define PM4_TYPE(header)	((header) >> 30)
#define PM4_COUNT(header)	(((header) >> 16) & 0x3fff)
#define PM4_OPCODE(header)	(((header) >> 8) & 0xff)
#define PM4_MAX_DWORDS		64

static u32 packet_dwords(u32 header)
{
	if (PM4_TYPE(header) != 3 || PM4_COUNT(header) == 0x3fff)
		return 1;

	return PM4_COUNT(header) + 2;
}

bool sim_firmware_hangs(void)
{
	return READ_ONCE(hang);
}

/* Ends early when the time is shortened, so that tests can have it last until
 * they have seen what they want to see.
 */
void sim_wait_for_unmap(struct sim_gpu *gpu)
{
	ktime_t start = ktime_get();

	while (READ_ONCE(slow_gpu) < 0 || READ_ONCE(slow_gpu) == gpu->index) {
		s64 left = READ_ONCE(unmap_delay_us) - ktime_us_delta(ktime_get(), start);

		if (left <= 0)
			return;
		left = min_t(s64, left, 1000);
		usleep_range(left, left + 50);
	}
}

/* Called with state_lock held: the firmware gives up on a queue that does not
 * save its waves, goes on, and notes the doorbell in the MQD of the HIQ.
 */
static void note_stuck_queue(struct sim_gpu *gpu)
{
	unsigned int i;

	for (i = 0; gpu->stuck_doorbell && i < gpu->num_mapped; i++) {
		if (gpu->mapped[i].doorbell != gpu->stuck_doorbell)
			continue;
		gpu->stuck_pq = gpu->mapped[i].pq;
		gpu->hiq.mqd->queue_doorbell_id0 = gpu->stuck_doorbell;
		gpu->stuck_doorbell = 0;
	}
}

/* What the registers of a hardware slot say: the ring of a queue that is there
 * when nothing should be.
 */
u64 sim_stuck_queue(struct sim_gpu *gpu)
{
	u64 pq;

	mutex_lock(&gpu->state_lock);
	pq = gpu->stuck_pq;
	mutex_unlock(&gpu->state_lock);

	return pq;
}

u64 sim_reset_stuck_queue(struct sim_gpu *gpu)
{
	u64 pq;

	mutex_lock(&gpu->state_lock);
	pq = gpu->stuck_pq;
	gpu->stuck_pq = 0;
	mutex_unlock(&gpu->state_lock);

	return pq;
}

/* Called with state_lock held. NULL if there are too many. */
struct sim_mapped_queue *sim_new_mapped_queue(struct sim_gpu *gpu)
{
	struct sim_mapped_queue *queue;

	if (WARN_ON_ONCE(gpu->num_mapped >= SIM_MAX_MAPPED))
		return NULL;

	queue = &gpu->mapped[gpu->num_mapped++];
	memset(queue, 0, sizeof(*queue));

	return queue;
}

static u64 ring_address(const struct v9_mqd *m)
{
	return ((u64)m->cp_hqd_pq_base_hi << 40) | ((u64)m->cp_hqd_pq_base_lo << 8);
}

static u64 save_address(const struct v9_mqd *m)
{
	return ((u64)m->cp_hqd_ctx_save_base_addr_hi << 32) |
	       m->cp_hqd_ctx_save_base_addr_lo;
}

/* A compute queue has an MQD for each XCC, all with the same ring, each with a
 * save area of its own. Counts the XCCs that find theirs in order.
 */
static u32 count_xccs(struct sim_gpu *gpu, u64 mqd_addr)
{
	const struct v9_mqd *first = sim_gpu_to_cpu(gpu, mqd_addr);
	const struct v9_mqd *m;
	u32 xcc, count = 0;

	if (WARN_ON_ONCE(!first))
		return 0;

	for (xcc = 0; xcc < gpu->model->xccs; xcc++) {
		m = (const void *)first + (u64)xcc * first->cp_mqd_stride_size;
		if ((gpu->hiq.xccs & BIT(xcc)) &&
		    ring_address(m) == ring_address(first) &&
		    save_address(m) == save_address(first) +
				       (u64)xcc * first->cp_hqd_ctx_save_size)
			count++;
	}

	return count;
}

static void map_queue(struct sim_gpu *gpu, u32 pasid,
		      const struct pm4_mes_map_queues *packet)
{
	u64 mqd_addr = ((u64)packet->mqd_addr_hi << 32) | packet->mqd_addr_lo;
	struct sim_mapped_queue *queue = sim_new_mapped_queue(gpu);

	if (!queue)
		return;

	queue->pasid = pasid;
	queue->doorbell = packet->bitfields3.doorbell_offset;
	queue->engine = packet->bitfields2.engine_sel;
	queue->xccs = queue->engine ? 1 : count_xccs(gpu, mqd_addr);
	if (!queue->engine && sim_gpu_to_cpu(gpu, mqd_addr))
		queue->pq = ring_address(sim_gpu_to_cpu(gpu, mqd_addr));
	sim_aql_map(gpu, queue, mqd_addr);
}

static void execute_run_list(struct sim_gpu *gpu,
			     const struct pm4_mes_runlist *packet)
{
	u64 addr = ((u64)packet->ib_base_hi << 32) | (packet->ordinal2 & ~3u);
	u32 left = packet->bitfields4.ib_size;
	const u32 *ib = sim_gpu_to_cpu(gpu, addr);
	u32 pasid = 0;

	if (WARN_ON_ONCE(!ib))
		return;

	/* What is mapped and not in the list would go on running. */
	if (gpu->num_mapped)
		gpu->counters.unknown++;
	gpu->num_mapped = 0;
	gpu->counters.run_processes = 0;
	while (left) {
		u32 dwords = packet_dwords(*ib);

		if (WARN_ON_ONCE(dwords > left))
			return;

		switch (PM4_OPCODE(*ib)) {
		case IT_MAP_PROCESS:
			pasid = ((struct pm4_mes_map_process *)ib)->bitfields2.pasid;
			gpu->counters.run_processes++;
			break;
		case IT_MAP_QUEUES:
			map_queue(gpu, pasid, (struct pm4_mes_map_queues *)ib);
			break;
		case IT_RUN_LIST:
			return;
		default:
			gpu->counters.unknown++;
		}
		ib += dwords;
		left -= dwords;
	}
}

static void answer_query(struct sim_gpu *gpu,
			 const struct pm4_mes_query_status *packet)
{
	u64 *fence = sim_gpu_to_cpu(gpu, ((u64)packet->addr_hi << 32) |
					 packet->addr_lo);

	if (WARN_ON_ONCE(!fence) || sim_firmware_hangs())
		return;

	/* What was done before must be seen before the fence. */
	smp_wmb();
	WRITE_ONCE(*fence, ((u64)packet->data_hi << 32) | packet->data_lo);
}

/* Action and filter are those the driver uses without a debugger's reset: all
 * queues, or those of a process, are preempted.
 */
static void unmap_queues(struct sim_gpu *gpu, const struct pm4_mes_unmap_queues *packet)
{
	if (packet->bitfields2.action != action__mes_unmap_queues__preempt_queues) {
		gpu->counters.unknown++;
		return;
	}

	switch (packet->bitfields2.queue_sel) {
	case queue_sel__mes_unmap_queues__unmap_all_queues:
		gpu->counters.unmap_all++;
		fallthrough;
	case queue_sel__mes_unmap_queues__unmap_all_non_static_queues:
		note_stuck_queue(gpu);
		gpu->num_mapped = 0;
		break;
	default:
		gpu->counters.unknown++;
	}
}

static void execute_packet(struct sim_gpu *gpu, const u32 *packet)
{
	mutex_lock(&gpu->state_lock);
	switch (PM4_OPCODE(*packet)) {
	case IT_SET_RESOURCES:
		gpu->counters.set_resources++;
		break;
	case IT_RUN_LIST:
		gpu->counters.run_list++;
		execute_run_list(gpu, (const struct pm4_mes_runlist *)packet);
		break;
	case IT_UNMAP_QUEUES:
		gpu->counters.unmap_queues++;
		unmap_queues(gpu, (const struct pm4_mes_unmap_queues *)packet);
		break;
	case IT_QUERY_STATUS:
		gpu->counters.query_status++;
		answer_query(gpu, (const struct pm4_mes_query_status *)packet);
		break;
	case IT_WRITE_DATA:
		gpu->counters.write_data++;
		gpu->counters.grace_before = gpu->counters.grace;
		gpu->counters.grace = ((const struct pm4_mec_write_data_mmio *)packet)->data;
		break;
	case IT_NOP:
		break;
	default:
		gpu->counters.unknown++;
	}
	mutex_unlock(&gpu->state_lock);

	if (PM4_OPCODE(*packet) == IT_UNMAP_QUEUES)
		sim_wait_for_unmap(gpu);
}

/* A packet may wrap around the end of the ring: copy it out first. */
static void consume_packet(struct sim_gpu *gpu)
{
	struct sim_hiq *hiq = &gpu->hiq;
	u32 packet[PM4_MAX_DWORDS];
	u32 header = hiq->ring[hiq->rptr % hiq->ring_dwords];
	u32 i, dwords = packet_dwords(header);

	for (i = 0; i < min_t(u32, dwords, PM4_MAX_DWORDS); i++)
		packet[i] = hiq->ring[(hiq->rptr + i) % hiq->ring_dwords];

	if (PM4_TYPE(header) == 3)
		execute_packet(gpu, packet);

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

	hiq->ring = sim_gpu_to_cpu(gpu, ring_address(m));
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
	hiq->thread = thread;

	return 0;
}

static int join_hiq(struct sim_gpu *gpu, const struct v9_mqd *m)
{
	if (!gpu->hiq.thread || sim_gpu_to_cpu(gpu, ring_address(m)) != gpu->hiq.ring)
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
