// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The devices, and the module: GPUs of 104 CUs and 31 compute slots, of which
 * amdkfd is told what amdgpu would tell it. All are of one model:
 *
 *   gfx90a    one XCC, hardware scheduler (HWS) behind the HIQ
 *   gfx942    the same with four XCCs, which work on a queue together
 *   gfx1100   MES, which is told queue by queue
 */

#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/vmalloc.h>
#include "sim.h"
#include "amdgpu_reset.h"
#include "soc15_hw_ip.h"
#include "kfd_priv.h"

static int gpus = 1;
module_param(gpus, int, 0444);
MODULE_PARM_DESC(gpus, "Number of GPUs");

static int slots = 31;
module_param(slots, int, 0444);
MODULE_PARM_DESC(slots, "Hardware slots for compute queues, of each GPU");

bool sim_hive;
module_param_named(hive, sim_hive, bool, 0444);
MODULE_PARM_DESC(hive, "All GPUs are reset together, as eight MI300X are");

static char *model = "gfx90a";
module_param(model, charp, 0444);
MODULE_PARM_DESC(model, "What the GPUs are: gfx90a, gfx942, gfx1100");

static const struct sim_model sim_models[] = {
	{
		.name = "gfx90a",
		.asic_type = CHIP_ALDEBARAN,
		.gc_version = IP_VERSION(9, 4, 2),
		.sdma_version = IP_VERSION(4, 4, 0),
		.sdma_engines = 5,
		.xccs = 1,
		.simd_per_cu = 4,
		.waves_per_simd = 8,
		.lanes_per_wave = 64,
	},
	{
		.name = "gfx942",
		.asic_type = CHIP_IP_DISCOVERY,
		.gc_version = IP_VERSION(9, 4, 3),
		.sdma_version = IP_VERSION(4, 4, 2),
		.sdma_engines = 16,
		.xccs = 4,
		.simd_per_cu = 4,
		.waves_per_simd = 8,
		.lanes_per_wave = 64,
	},
	{
		.name = "gfx1100",
		.asic_type = CHIP_IP_DISCOVERY,
		.gc_version = IP_VERSION(11, 0, 0),
		.sdma_version = IP_VERSION(6, 0, 0),
		.sdma_engines = 2,
		.xccs = 1,
		.simd_per_cu = 2,
		.waves_per_simd = 16,
		.lanes_per_wave = 32,
		.has_mes = true,
	},
};

struct sim_gpu *sim_gpus[SIM_MAX_GPUS];
int sim_num_gpus;

static struct miscdevice sim_render = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kfd_sim_render",
	.fops = &sim_render_fops,
	.mode = 0666,
};

static enum amdgpu_pkg_type get_pkg_type(struct amdgpu_device *adev)
{
	return AMDGPU_PKG_TYPE_OAM;
}

static const struct amdgpu_smuio_funcs sim_smuio_funcs = {
	.get_pkg_type = get_pkg_type,
};

static void fill_device(struct amdgpu_device *adev, struct pci_dev *pdev)
{
	struct sim_gpu *gpu = to_sim_gpu(adev);
	const struct sim_model *m = gpu->model;

	adev->pdev = pdev;
	adev->dev = &pdev->dev;
	adev->ddev.dev = &pdev->dev;
	gpu->minor.index = 128 + gpu->index;
	adev->ddev.render = &gpu->minor;
	adev->ddev.primary = &gpu->minor;
	adev->asic_type = m->asic_type;
	adev->ip_versions[GC_HWIP][0] = m->gc_version;
	adev->ip_versions[SDMA0_HWIP][0] = m->sdma_version;
	adev->sdma.num_instances = m->sdma_engines;
	adev->smuio.funcs = &sim_smuio_funcs;
	adev->rev_id = 1;	/* of 9.4.3: gfx942 */
	adev->gfx.xcc_mask = BIT(m->xccs) - 1;
	adev->gfx.num_xcc_per_xcp = m->xccs;
	adev->gfx.config.max_shader_engines = 8;
	adev->gfx.config.max_sh_per_se = 1;
	adev->gfx.config.max_cu_per_sh = 14;
	adev->gfx.cu_info.number = 104;
	adev->gfx.cu_info.simd_per_cu = m->simd_per_cu;
	adev->gfx.cu_info.max_waves_per_simd = m->waves_per_simd;
	adev->gfx.cu_info.wave_front_size = m->lanes_per_wave;
	adev->gfx.cu_info.max_scratch_slots_per_cu = 32;
	adev->gfx.cu_info.lds_size = 64;
	memset(adev->gfx.cu_info.bitmap, 0xff, sizeof(adev->gfx.cu_info.bitmap));
	adev->gds.gws_size = 64;
	adev->vm_manager.max_pfn = 1ULL << 35;
	adev->doorbell.base = virt_to_phys(gpu->doorbells);
	spin_lock_init(&adev->mman.bdev.lru_lock);
	mutex_init(&adev->grbm_idx_mutex);
	init_rwsem(&gpu->reset_domain.sem);
	adev->reset_domain = sim_hive && gpu->index ? &sim_gpus[0]->reset_domain :
						      &gpu->reset_domain;
}

static void fill_resources(struct sim_gpu *gpu,
			   struct kgd2kfd_shared_resources *resources)
{
	static uint32_t sdma_doorbells[AMDGPU_MAX_SDMA_INSTANCES];
	int i;

	for (i = 0; i < ARRAY_SIZE(sdma_doorbells); i++)
		sdma_doorbells[i] = 0xf0 + 10 * i;

	resources->compute_vmid_bitmap = 0xff00;
	resources->num_pipe_per_mec = 4;
	resources->num_queue_per_pipe = 8;
	/* Slot 0 stays with amdgpu. */
	bitmap_set(resources->cp_queue_bitmap, 1, slots);
	resources->sdma_doorbell_idx = sdma_doorbells;
	resources->non_cp_doorbells_start = 0x78;
	resources->non_cp_doorbells_end = 0x7f;
	resources->doorbell_physical_address = virt_to_phys(gpu->doorbells);
	resources->doorbell_aperture_size = SIM_DOORBELL_BYTES;
	resources->gpuvm_size = 1ULL << 47;
	resources->drm_render_minor = gpu->minor.index;
	resources->enable_mes = gpu->model->has_mes;
}

static void destroy_gpu(struct sim_gpu *gpu)
{
	if (gpu->reset_domain.wq)
		flush_workqueue(gpu->reset_domain.wq);
	if (gpu->adev.kfd.dev)
		kgd2kfd_device_exit(gpu->adev.kfd.dev);
	sim_mes_fini(gpu);
	sim_memory_fini(gpu);
	if (gpu->reset_domain.wq)
		destroy_workqueue(gpu->reset_domain.wq);
	pci_dev_put(gpu->adev.pdev);
	kvfree(gpu->mapped);
	kvfree(gpu);
}

/* @pdev: any PCI device; its reference is taken over. */
static struct sim_gpu *create_gpu(const struct sim_model *m, int index,
				  struct pci_dev *pdev)
{
	struct kgd2kfd_shared_resources resources = {};
	struct sim_gpu *gpu;
	int r;

	gpu = kvzalloc(sizeof(*gpu), GFP_KERNEL);
	if (!gpu) {
		pci_dev_put(pdev);
		return ERR_PTR(-ENOMEM);
	}

	gpu->model = m;
	gpu->index = index;
	gpu->adev.pdev = pdev;
	mutex_init(&gpu->state_lock);
	sim_reset_init(gpu);
	r = sim_memory_init(gpu);
	if (r)
		goto fail;

	r = -ENOMEM;
	gpu->mapped = kvcalloc(SIM_MAX_MAPPED, sizeof(*gpu->mapped), GFP_KERNEL);
	gpu->reset_domain.wq = alloc_ordered_workqueue("kfd_sim_reset", 0);
	if (!gpu->mapped || !gpu->reset_domain.wq)
		goto fail;

	fill_device(&gpu->adev, pdev);
	fill_resources(gpu, &resources);
	if (m->has_mes) {
		r = sim_mes_init(gpu);
		if (r)
			goto fail;
	}

	r = -ENODEV;
	gpu->adev.kfd.dev = kgd2kfd_probe(&gpu->adev, false);
	if (!gpu->adev.kfd.dev)
		goto fail;

	/* From here on processes can find it. */
	sim_gpus[index] = gpu;
	gpu->adev.kfd.init_complete = kgd2kfd_device_init(gpu->adev.kfd.dev,
							  &resources);
	if (!gpu->adev.kfd.init_complete) {
		sim_gpus[index] = NULL;
		goto fail;
	}
	if (m->has_mes)
		sim_mes_init_unused_lock(gpu);

	return gpu;

fail:
	destroy_gpu(gpu);
	return ERR_PTR(r);
}

static void destroy_gpus(void)
{
	/* Of a hive: the first resets all. */
	if (sim_num_gpus)
		flush_workqueue(sim_gpus[0]->reset_domain.wq);
	while (sim_num_gpus--)
		destroy_gpu(sim_gpus[sim_num_gpus]);
}

static const struct sim_model *find_model(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(sim_models); i++)
		if (!strcmp(sim_models[i].name, model))
			return &sim_models[i];

	return NULL;
}

static int create_gpus(const struct sim_model *m)
{
	struct pci_dev *pdev = NULL;
	struct sim_gpu *gpu;

	for (sim_num_gpus = 0; sim_num_gpus < gpus; sim_num_gpus++) {
		/* Gives up the reference to the previous one. */
		pdev = pci_get_device(PCI_ANY_ID, PCI_ANY_ID, pdev);
		if (!pdev)
			return -ENODEV;
		gpu = create_gpu(m, sim_num_gpus, pci_dev_get(pdev));
		if (IS_ERR(gpu)) {
			pci_dev_put(pdev);
			return PTR_ERR(gpu);
		}
	}
	pci_dev_put(pdev);

	return 0;
}

static int __init kfd_sim_init(void)
{
	const struct sim_model *m = find_model();
	int i, r;

	if (!m || gpus < 1 || gpus > SIM_MAX_GPUS || slots < 1 || slots > 31)
		return -EINVAL;

	for (i = 0; i < CHIP_LAST + 1; i++)
		amdgpu_asic_name[i] = "kfd_sim";

	r = kgd2kfd_init();
	if (r)
		return r;

	r = create_gpus(m);
	if (r)
		goto fail_gpus;

	r = misc_register(&sim_render);
	if (r)
		goto fail_gpus;

	r = sim_control_init();
	if (r)
		goto fail_control;

	return 0;

fail_control:
	misc_deregister(&sim_render);
fail_gpus:
	destroy_gpus();
	kgd2kfd_exit();
	return r;
}

static void __exit kfd_sim_exit(void)
{
	sim_control_fini();
	misc_deregister(&sim_render);
	destroy_gpus();
	kgd2kfd_exit();
}

module_init(kfd_sim_init);
module_exit(kfd_sim_exit);
MODULE_DESCRIPTION("amdkfd on emulated scheduler firmware");
MODULE_LICENSE("GPL and additional rights");
MODULE_IMPORT_NS(DMA_BUF);
