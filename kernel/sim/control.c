// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What tests see and do, in debugfs kfd_sim/:
 *
 *   state0..  what the firmware of a GPU was told and which queues are mapped:
 *               gpu ID set_resources N run_list N unmap N query N write N
 *                   unknown N reset N add N remove N processes N grace N before N
 *                   all N pasid N mapped N
 *               queue ID pasid N doorbell N engine N xccs N level N
 *             Reading waits until the driver is not in the middle of a change
 *             (between an unmap and the run list after it nothing is mapped)
 *             and the firmware has nothing left to do.
 *   evict     write a pid: evict its queues, as memory management does
 *   restore   write a pid: undo one eviction
 *   stuck0..  write a doorbell: its queue does not save its waves
 *   no_reset0.. write 1: somebody else keeps resets away (and changes of the
 *             run list); 0: no longer
 *   power     write 0: all GPUs go to sleep, as on suspend-to-RAM; 1: wake up
 */

#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/mmu_notifier.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include "sim.h"
#include "kfd_priv.h"
#include "kfd_device_queue_manager.h"

static struct dentry *sim_dir;

/* amdkfd is compiled with mmu_notifier_get_locked() renamed to this: the last step of
 * opening /dev/kfd for the first time fails, when a test says so, as if a signal
 * had come. 1: the next one waits there, 2: one waits, 0: it goes on and fails.
 */
static int fail_open;
module_param(fail_open, int, 0644);
MODULE_PARM_DESC(fail_open, "1: the next process that opens /dev/kfd waits, and fails once this is 0");

struct mmu_notifier *sim_mmu_notifier_get_locked(const struct mmu_notifier_ops *ops,
					  struct mm_struct *mm)
{
	if (cmpxchg(&fail_open, 1, 2) != 1)
		return mmu_notifier_get_locked(ops, mm);

	while (READ_ONCE(fail_open))
		usleep_range(50, 100);

	return ERR_PTR(-EINTR);
}

/* kfd_packet_manager.c is compiled with kfd_gtt_sa_allocate() renamed to this: there
 * is no memory for the next run lists.
 */
static int fail_run_lists;
module_param(fail_run_lists, int, 0644);
MODULE_PARM_DESC(fail_run_lists, "Number of run lists that fail from now on");

int sim_gtt_sa_allocate(struct kfd_node *node, unsigned int size,
			struct kfd_mem_obj **mem_obj)
{
	int left = READ_ONCE(fail_run_lists);

	if (left) {
		WRITE_ONCE(fail_run_lists, left - 1);
		return -ENOMEM;
	}

	return kfd_gtt_sa_allocate(node, size, mem_obj);
}

static int wait_for_firmware(struct sim_gpu *gpu)
{
	int i;

	for (i = 0; i < 50000; i++) {
		if (sim_firmware_idle(gpu))
			return 0;
		usleep_range(50, 100);
	}

	return -ETIME;
}

static void show_gpu(struct seq_file *m, struct sim_gpu *gpu)
{
	u32 id = gpu->adev.kfd.dev->nodes[0]->id;
	unsigned int i;

	mutex_lock(&gpu->state_lock);
	seq_printf(m, "gpu %u set_resources %llu run_list %llu unmap %llu query %llu write %llu unknown %llu reset %llu add %llu remove %llu processes %llu grace %llu before %llu all %llu pasid %llu mapped %u\n",
		   id, gpu->counters.set_resources, gpu->counters.run_list,
		   gpu->counters.unmap_queues, gpu->counters.query_status,
		   gpu->counters.write_data, gpu->counters.unknown,
		   gpu->counters.gpu_reset, gpu->counters.add_queue,
		   gpu->counters.remove_queue, gpu->counters.run_processes,
		   gpu->counters.grace, gpu->counters.grace_before,
		   gpu->counters.unmap_all, gpu->counters.unmap_pasid,
		   gpu->num_mapped);
	for (i = 0; i < gpu->num_mapped; i++)
		seq_printf(m, "queue %u pasid %u doorbell %u engine %u xccs %u level %u\n",
			   id, gpu->mapped[i].pasid, gpu->mapped[i].doorbell,
			   gpu->mapped[i].engine, gpu->mapped[i].xccs,
			   gpu->mapped[i].level);
	mutex_unlock(&gpu->state_lock);
}

static int state_show(struct seq_file *m, void *unused)
{
	struct sim_gpu *gpu = m->private;
	struct device_queue_manager *dqm = gpu->adev.kfd.dev->nodes[0]->dqm;
	int r;

	dqm_lock(dqm);
	r = wait_for_firmware(gpu);
	if (!r)
		show_gpu(m, gpu);
	dqm_unlock(dqm);

	return r;
}
DEFINE_SHOW_ATTRIBUTE(state);

static int stuck_set(void *data, u64 doorbell)
{
	struct sim_gpu *gpu = data;

	mutex_lock(&gpu->state_lock);
	gpu->stuck_doorbell = doorbell;
	mutex_unlock(&gpu->state_lock);

	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(stuck_fops, NULL, stuck_set, "%llu\n");

/* As amdgpu_test_ib does (amdgpu_debugfs.c), which has the lock for as long as
 * its own tests last.
 */
static int no_reset_set(void *data, u64 on)
{
	struct sim_gpu *gpu = data;

	if (on)
		down_write(&gpu->reset_domain.sem);
	else
		up_write(&gpu->reset_domain.sem);

	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(no_reset_fops, NULL, no_reset_set, "%llu\n");

static int evict_or_restore(pid_t nr, bool evict)
{
	struct task_struct *task;
	struct mm_struct *mm;
	struct pid *pid;
	int r;

	pid = find_get_pid(nr);
	task = get_pid_task(pid, PIDTYPE_PID);
	put_pid(pid);
	if (!task)
		return -ESRCH;

	mm = get_task_mm(task);
	put_task_struct(task);
	if (!mm)
		return -ESRCH;

	r = evict ? kgd2kfd_quiesce_mm(mm, KFD_QUEUE_EVICTION_TRIGGER_USERPTR) :
		    kgd2kfd_resume_mm(mm);
	mmput(mm);

	return r;
}

static int evict_set(void *data, u64 pid)
{
	return evict_or_restore(pid, true);
}
DEFINE_DEBUGFS_ATTRIBUTE(evict_fops, NULL, evict_set, "%llu\n");

static int restore_set(void *data, u64 pid)
{
	return evict_or_restore(pid, false);
}
DEFINE_DEBUGFS_ATTRIBUTE(restore_fops, NULL, restore_set, "%llu\n");

static int power_set(void *data, u64 on)
{
	int i, r, ret = 0;

	for (i = 0; i < sim_num_gpus; i++) {
		if (!on) {
			kgd2kfd_suspend(sim_gpus[i]->adev.kfd.dev, false);
			continue;
		}
		r = kgd2kfd_resume(sim_gpus[i]->adev.kfd.dev, false);
		if (!ret)
			ret = r;
	}

	return ret;
}
DEFINE_DEBUGFS_ATTRIBUTE(power_fops, NULL, power_set, "%llu\n");

static void create_gpu_file(const char *name, int index, umode_t mode,
			    const struct file_operations *fops)
{
	char numbered[16];

	snprintf(numbered, sizeof(numbered), "%s%d", name, index);
	debugfs_create_file(numbered, mode, sim_dir, sim_gpus[index], fops);
}

int sim_control_init(void)
{
	int i;

	sim_dir = debugfs_create_dir("kfd_sim", NULL);
	if (IS_ERR(sim_dir))
		return PTR_ERR(sim_dir);

	for (i = 0; i < sim_num_gpus; i++) {
		create_gpu_file("state", i, 0400, &state_fops);
		create_gpu_file("stuck", i, 0200, &stuck_fops);
		create_gpu_file("no_reset", i, 0200, &no_reset_fops);
	}
	debugfs_create_file("evict", 0200, sim_dir, NULL, &evict_fops);
	debugfs_create_file("restore", 0200, sim_dir, NULL, &restore_fops);
	debugfs_create_file("power", 0200, sim_dir, NULL, &power_fops);

	return 0;
}

void sim_control_fini(void)
{
	debugfs_remove_recursive(sim_dir);
}
