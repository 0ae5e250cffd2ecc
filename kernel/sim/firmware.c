// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The hardware scheduler: what it does with the packets that come in by the HIQ
 * (hiq.c). It executes run lists as far as to know which queues are mapped,
 * takes a settable time for an unmap, and can be told to hang.
 *
 * An oversubscribed run list ends in a jump to itself. All its queues count as
 * mapped: they would be, in turns.
 */

#include <linux/delay.h>
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

/* What no documentation tells, and the driver has to find out. */
static bool puts_back;
module_param(puts_back, bool, 0644);
MODULE_PARM_DESC(puts_back, "What is unmapped by PASID is mapped again from the run list");

/* How many GPUs are in the middle of an unmap. A test that looks at the state of
 * one of them would wait for its end.
 */
static atomic_t gpus_at_unmap = ATOMIC_INIT(0);

static int get_gpus_at_unmap(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%d\n", atomic_read(&gpus_at_unmap));
}

static const struct kernel_param_ops gpus_at_unmap_ops = {
	.get = get_gpus_at_unmap,
};
module_param_cb(gpus_at_unmap, &gpus_at_unmap_ops, NULL, 0444);

#define PM4_TYPE(header)	((header) >> 30)
#define PM4_COUNT(header)	(((header) >> 16) & 0x3fff)
#define PM4_OPCODE(header)	(((header) >> 8) & 0xff)

u32 sim_packet_dwords(u32 header)
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

	atomic_inc(&gpus_at_unmap);
	while (READ_ONCE(slow_gpu) < 0 || READ_ONCE(slow_gpu) == gpu->index) {
		s64 left = READ_ONCE(unmap_delay_us) - ktime_us_delta(ktime_get(), start);

		if (left <= 0)
			break;
		left = min_t(s64, left, 1000);
		usleep_range(left, left + 50);
	}
	atomic_dec(&gpus_at_unmap);
}

/* Called with state_lock held: the firmware gives up on a queue that does not
 * save its waves, goes on, and notes the doorbell in the MQD of the HIQ. It does
 * so each time it is asked, until the queue is reset.
 */
static bool note_stuck_queue(struct sim_gpu *gpu, const struct sim_mapped_queue *queue)
{
	if (!gpu->stuck_doorbell || queue->doorbell != gpu->stuck_doorbell)
		return false;

	gpu->hiq.mqd->queue_doorbell_id0 = gpu->stuck_doorbell;

	return true;
}

/* What the registers of a hardware slot say: the ring of the queue that is in it.
 * After an unmap of everybody that is only one that was not to be had out.
 */
u64 sim_ring_in_slot(struct sim_gpu *gpu, unsigned int slot)
{
	unsigned int i;
	u64 ring = 0;

	mutex_lock(&gpu->state_lock);
	if (gpu->stuck_pq)
		ring = slot ? 0 : gpu->stuck_pq;
	else
		for (i = 0; i < gpu->num_mapped && !ring; i++)
			if (!gpu->mapped[i].engine && !slot--)
				ring = gpu->mapped[i].pq;
	mutex_unlock(&gpu->state_lock);

	return ring;
}

/* Only one that is stuck is ever reset. */
u64 sim_reset_slot(struct sim_gpu *gpu, unsigned int slot)
{
	u64 ring = 0;

	mutex_lock(&gpu->state_lock);
	if (!slot) {
		ring = gpu->stuck_pq;
		gpu->stuck_pq = 0;
		gpu->stuck_doorbell = 0;
	}
	mutex_unlock(&gpu->state_lock);

	return ring;
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

u64 sim_ring_address(const struct v9_mqd *m)
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
		    sim_ring_address(m) == sim_ring_address(first) &&
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
		queue->pq = sim_ring_address(sim_gpu_to_cpu(gpu, mqd_addr));
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
	gpu->oversubscribed = false;
	while (left) {
		u32 dwords = sim_packet_dwords(*ib);

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
			gpu->oversubscribed = true;
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

static void unmap_everybody(struct sim_gpu *gpu)
{
	unsigned int i;

	for (i = 0; i < gpu->num_mapped; i++)
		if (note_stuck_queue(gpu, &gpu->mapped[i]))
			gpu->stuck_pq = gpu->mapped[i].pq;
	gpu->num_mapped = 0;
}

/* An oversubscribed run list is gone through again and again: who is unmapped is
 * mapped in its turn. So it is if the firmware puts back what its list has.
 */
static void unmap_process(struct sim_gpu *gpu, u32 pasid)
{
	bool stays = puts_back || gpu->oversubscribed;
	unsigned int i, left = 0;

	for (i = 0; i < gpu->num_mapped; i++)
		if (gpu->mapped[i].pasid != pasid ||
		    note_stuck_queue(gpu, &gpu->mapped[i]) || stays)
			gpu->mapped[left++] = gpu->mapped[i];
	gpu->num_mapped = left;
}

/* The driver resets nothing in this way unless a debugger asks for it. */
static void unmap_queues(struct sim_gpu *gpu, const struct pm4_mes_unmap_queues *packet)
{
	if (packet->bitfields2.action != action__mes_unmap_queues__preempt_queues) {
		gpu->counters.unknown++;
		return;
	}

	switch (packet->bitfields2.queue_sel) {
	case queue_sel__mes_unmap_queues__perform_request_on_pasid_queues:
		gpu->counters.unmap_pasid++;
		unmap_process(gpu, packet->bitfields3a.pasid);
		break;
	case queue_sel__mes_unmap_queues__unmap_all_queues:
		gpu->counters.unmap_all++;
		fallthrough;
	case queue_sel__mes_unmap_queues__unmap_all_non_static_queues:
		unmap_everybody(gpu);
		break;
	default:
		gpu->counters.unknown++;
	}
}

void sim_execute_packet(struct sim_gpu *gpu, const u32 *packet)
{
	if (PM4_TYPE(*packet) != 3)
		return;

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
