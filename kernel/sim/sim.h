/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A KFD device without hardware: the amdkfd sources as they are, with this
 * stand-in for amdgpu and for the scheduler firmware, in one module.
 *
 * What amdkfd does (queues, processes, locks, flags, packets) is real. What it
 * tells the hardware ends in firmware.c, which executes the packets of the
 * kernel's queue (HIQ, hiq.c), or in mes.c, as far as a scheduler is concerned: it
 * knows which queues are mapped, and takes packets off them. No wave and no
 * shader runs.
 */

#ifndef KFD_SIM_H_INCLUDED
#define KFD_SIM_H_INCLUDED

/* Included before other headers of the driver, which count on amdgpu.h. */

#include <linux/dma-resv.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include "amdgpu.h"
#include "amdgpu_amdkfd.h"
#include "amdgpu_object.h"
#include "amdgpu_reset.h"
#include "amdgpu_vm.h"

#define SIM_MAX_GPUS		8
#define SIM_MAX_MAPPED		4096
#define SIM_DOORBELL_SLICE	8192
#define SIM_DOORBELL_SLICES	64
#define SIM_DOORBELL_BYTES	(SIM_DOORBELL_SLICE * SIM_DOORBELL_SLICES)

struct sim_model {
	const char *name;
	enum amd_asic_type asic_type;
	u32 gc_version;
	u32 sdma_version;
	int sdma_engines;
	int xccs;
	int simd_per_cu;
	int waves_per_simd;
	int lanes_per_wave;
	bool has_mes;
};

/* What the firmware was told, since the module was loaded */
struct sim_counters {
	u64 set_resources;
	u64 run_list;
	u64 unmap_queues;
	u64 unmap_all;		/* of those: static queues, too */
	u64 unmap_pasid;	/* of those: of a process */
	u64 query_status;
	u64 write_data;
	u64 add_queue;		/* MES */
	u64 remove_queue;	/* MES */
	u64 unknown;	/* packets that make no sense */
	u64 gpu_reset;
	u64 run_processes;	/* in the last run list */
	u64 grace;	/* value of the last WRITE_DATA */
	u64 grace_before;	/* and of the one before */
};

struct v9_mqd;

struct sim_mapped_queue {
	u32 pasid;
	u32 doorbell;
	u32 engine;	/* 0 compute, else SDMA */
	u32 xccs;	/* number of XCCs that run it */
	u64 pq;		/* its ring, as the registers have it */
	u64 gang;	/* MES: address of its context, which names the queue too */
	u32 level;	/* MES: its priority band */

	/* aql.c: addresses in the process; 0 bytes: not an AQL queue */
	u64 ring;
	u64 rptr;
	u64 wptr;
	u32 ring_bytes;
};

/* The kernel's queue, as the firmware sees it. All XCCs read the same ring, and
 * the first one reports how far it is; one thread stands for all of them.
 */
struct sim_hiq {
	struct task_struct *thread;
	u32 xccs;	/* mask of those that were given the queue */
	struct v9_mqd *mqd;	/* of the first XCC */
	u32 *ring;
	u32 ring_dwords;
	u32 *rptr_report;
	u64 *wptr;
	u64 rptr;	/* in dwords, counts up */
};

struct sim_gpu {
	const struct sim_model *model;
	struct amdgpu_device adev;
	struct amdgpu_reset_domain reset_domain;
	struct work_struct reset_work;
	struct drm_minor minor;
	int index;
	bool initialized;

	/* memory.c */
	spinlock_t gtt_lock;
	struct list_head gtt;
	u64 next_gpu_addr;
	void *doorbells;
	struct mutex doorbell_lock;
	DECLARE_BITMAP(doorbell_slices, SIM_DOORBELL_SLICES);

	/* firmware.c */
	struct sim_hiq hiq;

	/* mes.c */
	struct task_struct *mes_thread;

	/* Both */
	struct mutex state_lock;	/* counters, mapped, num_mapped */
	struct sim_counters counters;
	struct sim_mapped_queue *mapped;
	unsigned int num_mapped;

	bool oversubscribed;	/* the run list */

	/* A queue that does not save its waves: its doorbell, until it is reset,
	 * and its ring, once all others are out of their slots
	 */
	u32 stuck_doorbell;
	u64 stuck_pq;
};

/* buffers.c. Where user memory is longer, it is a save area, which nothing reads. */
#define SIM_MAX_PINNED_PAGES	16

struct sim_mem {
	struct kgd_mem mem;
	u64 size;
	void *cpu;	/* NULL for user memory that is not pinned */
	struct page *pages[SIM_MAX_PINNED_PAGES];
	int num_pages;	/* of user memory */
};

static inline struct sim_gpu *to_sim_gpu(struct amdgpu_device *adev)
{
	return container_of(adev, struct sim_gpu, adev);
}

extern struct sim_gpu *sim_gpus[SIM_MAX_GPUS];
extern int sim_num_gpus;
extern bool sim_hive;	/* all share the reset domain of the first */

/* memory.c */
int sim_memory_init(struct sim_gpu *gpu);
void sim_memory_fini(struct sim_gpu *gpu);
void *sim_gpu_to_cpu(struct sim_gpu *gpu, u64 gpu_addr);
struct amdgpu_bo *sim_bo_create(struct amdgpu_device *adev, u64 size);

/* vm.c */
extern const struct file_operations sim_render_fops;
void sim_vm_lock(void);
void sim_vm_unlock(void);
void *sim_vm_address(u32 pasid, u64 va, u64 bytes);

/* aql.c */
void sim_aql_map(struct sim_gpu *gpu, struct sim_mapped_queue *queue, u64 mqd_addr);
void sim_aql_step(struct sim_gpu *gpu);

/* firmware.c */
u32 sim_packet_dwords(u32 header);
void sim_execute_packet(struct sim_gpu *gpu, const u32 *packet);
bool sim_firmware_hangs(void);
void sim_wait_for_unmap(struct sim_gpu *gpu);
u64 sim_ring_in_slot(struct sim_gpu *gpu, unsigned int slot);
u64 sim_reset_slot(struct sim_gpu *gpu, unsigned int slot);
u64 sim_ring_address(const struct v9_mqd *m);
struct sim_mapped_queue *sim_new_mapped_queue(struct sim_gpu *gpu);

/* hiq.c */
int sim_hiq_load(struct amdgpu_device *adev, void *mqd, u32 pipe_id,
		 u32 queue_id, u32 doorbell_off, u32 inst);
bool sim_firmware_idle(struct sim_gpu *gpu);
void sim_firmware_stop(struct sim_gpu *gpu);

/* mes.c */
int sim_mes_init(struct sim_gpu *gpu);
void sim_mes_init_unused_lock(struct sim_gpu *gpu);
void sim_mes_fini(struct sim_gpu *gpu);

/* reset.c */
void sim_reset_init(struct sim_gpu *gpu);

/* control.c */
struct mmu_notifier *sim_mmu_notifier_get_locked(const struct mmu_notifier_ops *ops,
					  struct mm_struct *mm);
struct kfd_node;
struct kfd_mem_obj;
int sim_gtt_sa_allocate(struct kfd_node *node, unsigned int size,
			struct kfd_mem_obj **mem_obj);
int sim_control_init(void);
void sim_control_fini(void);

#endif /* KFD_SIM_H_INCLUDED */
