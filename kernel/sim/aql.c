// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The packet processor: mapped AQL queues make progress, others do not. Each
 * step takes one packet off each mapped queue, marks its slot as free, counts
 * its completion signal down and moves the read index. What the packet asks
 * for is not done: no kernel runs.
 *
 * The firmware's thread takes the steps between packets of the HIQ (with MES,
 * between packets to it), so no queue moves from the moment an unmap was
 * executed until it is mapped again.
 */

#include "sim.h"
#include "v11_structs.h"
#include "v9_structs.h"

#define AQL_PACKET_BYTES	64
#define AQL_SIGNAL_OFFSET	56	/* completion_signal, in all packets */
#define AQL_SIGNAL_VALUE	8	/* amd_signal_t: value */
#define AQL_TYPE_MASK		0xff
#define AQL_TYPE_INVALID	1	/* the slot is free */

/* CP_HQD_PQ_CONTROL.QUEUE_SIZE: log2 of the ring's dwords, less one */
#define PQ_CONTROL_SIZE(control)	(8u << ((control) & 0x3f))

static void complete_packet(u32 pasid, u8 *packet)
{
	u64 signal = *(u64 *)(packet + AQL_SIGNAL_OFFSET);
	s64 *value;

	if (!signal)
		return;

	value = sim_vm_address(pasid, signal + AQL_SIGNAL_VALUE, sizeof(*value));
	if (value)
		WRITE_ONCE(*value, READ_ONCE(*value) - 1);
}

static void step_queue(const struct sim_mapped_queue *queue)
{
	u64 *rptr = sim_vm_address(queue->pasid, queue->rptr, sizeof(*rptr));
	u64 *wptr = sim_vm_address(queue->pasid, queue->wptr, sizeof(*wptr));
	u8 *ring = sim_vm_address(queue->pasid, queue->ring, queue->ring_bytes);
	u16 *header;
	u64 index;

	if (!rptr || !wptr || !ring)
		return;

	index = READ_ONCE(*rptr);
	if (index >= READ_ONCE(*wptr))
		return;

	ring += index * AQL_PACKET_BYTES % queue->ring_bytes;
	header = (u16 *)ring;
	/* The rest of the packet was written before its header. */
	if ((smp_load_acquire(header) & AQL_TYPE_MASK) == AQL_TYPE_INVALID)
		return;

	complete_packet(queue->pasid, ring);
	WRITE_ONCE(*header, AQL_TYPE_INVALID);
	/* Who sees the new index may write to the slot. */
	smp_store_release(rptr, index + 1);
}

/* The registers have the same names in all generations, but not the same places. */
#define READ_MQD(queue, m) do {							\
	if (!(m)->cp_hqd_aql_control)						\
		break;								\
	(queue)->ring = ((u64)(m)->cp_hqd_pq_base_hi << 40) |			\
			((u64)(m)->cp_hqd_pq_base_lo << 8);			\
	(queue)->ring_bytes = PQ_CONTROL_SIZE((m)->cp_hqd_pq_control);		\
	(queue)->rptr = ((u64)(m)->cp_hqd_pq_rptr_report_addr_hi << 32) |	\
			(m)->cp_hqd_pq_rptr_report_addr_lo;			\
	(queue)->wptr = ((u64)(m)->cp_hqd_pq_wptr_poll_addr_hi << 32) |		\
			(m)->cp_hqd_pq_wptr_poll_addr_lo;			\
} while (0)

/* Where the queue lies in its process's memory, as the driver told the hardware */
void sim_aql_map(struct sim_gpu *gpu, struct sim_mapped_queue *queue, u64 mqd_addr)
{
	const void *mqd = sim_gpu_to_cpu(gpu, mqd_addr);

	queue->ring_bytes = 0;
	if (queue->engine || !mqd)
		return;

	if (gpu->model->has_mes)
		READ_MQD(queue, (const struct v11_compute_mqd *)mqd);
	else
		READ_MQD(queue, (const struct v9_mqd *)mqd);
}

/* Called with state_lock held. */
void sim_aql_step(struct sim_gpu *gpu)
{
	unsigned int i;

	sim_vm_lock();
	for (i = 0; i < gpu->num_mapped; i++)
		if (gpu->mapped[i].ring_bytes)
			step_queue(&gpu->mapped[i]);
	sim_vm_unlock();
}
