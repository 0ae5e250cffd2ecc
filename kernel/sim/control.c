// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What tests see and do, in debugfs kfd_sim/:
 *
 *   state     what the firmware was told and which queues are mapped:
 *               gpu ID set_resources N run_list N unmap N query N write N
 *                   unknown N reset N add N remove N mapped N
 *               queue ID pasid N doorbell N engine N xccs N level N
 *             Reading waits until the driver is not in the middle of a change
 *             (between an unmap and the run list after it nothing is mapped)
 *             and the firmware has nothing left to do.
 *   evict     write a pid: evict its queues, as memory management does
 *   restore   write a pid: undo one eviction
 *   power     write 0: all GPUs go to sleep, as on suspend-to-RAM; 1: wake up
 */

#include <linux/debugfs.h>
#include <linux/delay.h>
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
	seq_printf(m, "gpu %u set_resources %llu run_list %llu unmap %llu query %llu write %llu unknown %llu reset %llu add %llu remove %llu mapped %u\n",
		   id, gpu->counters.set_resources, gpu->counters.run_list,
		   gpu->counters.unmap_queues, gpu->counters.query_status,
		   gpu->counters.write_data, gpu->counters.unknown,
		   gpu->counters.gpu_reset, gpu->counters.add_queue,
		   gpu->counters.remove_queue, gpu->num_mapped);
	for (i = 0; i < gpu->num_mapped; i++)
		seq_printf(m, "queue %u pasid %u doorbell %u engine %u xccs %u level %u\n",
			   id, gpu->mapped[i].pasid, gpu->mapped[i].doorbell,
			   gpu->mapped[i].engine, gpu->mapped[i].xccs,
			   gpu->mapped[i].level);
	mutex_unlock(&gpu->state_lock);
}

static int state_show(struct seq_file *m, void *unused)
{
	int i, r;

	for (i = 0; i < sim_num_gpus; i++) {
		struct sim_gpu *gpu = sim_gpus[i];
		struct device_queue_manager *dqm = gpu->adev.kfd.dev->nodes[0]->dqm;

		dqm_lock(dqm);
		r = wait_for_firmware(gpu);
		if (!r)
			show_gpu(m, gpu);
		dqm_unlock(dqm);
		if (r)
			return r;
	}

	return 0;
}
DEFINE_SHOW_ATTRIBUTE(state);

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

int sim_control_init(void)
{
	sim_dir = debugfs_create_dir("kfd_sim", NULL);
	if (IS_ERR(sim_dir))
		return PTR_ERR(sim_dir);

	debugfs_create_file("state", 0400, sim_dir, NULL, &state_fops);
	debugfs_create_file("evict", 0200, sim_dir, NULL, &evict_fops);
	debugfs_create_file("restore", 0200, sim_dir, NULL, &restore_fops);
	debugfs_create_file("power", 0200, sim_dir, NULL, &power_fops);

	return 0;
}

void sim_control_fini(void)
{
	debugfs_remove_recursive(sim_dir);
}
