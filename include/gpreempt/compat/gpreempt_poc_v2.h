/*
 * The early API, second form: the first form and four calls that were meant for a patched driver.
 * With gpreempt's patches (docs/kernel.md) they use the driver's own calls. Without them the first
 * two use the best mechanism this machine has, and the last two do what can be done or fail with
 * ENOTSUP. What is done instead is said once on standard error, as failures are (see
 * gpreempt_poc.h).
 */
#ifndef GPREEMPT_COMPAT_GPREEMPT_POC_V2_H
#define GPREEMPT_COMPAT_GPREEMPT_POC_V2_H

#include "gpreempt_poc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Takes queues off the hardware as gpreempt_suspend_queues() does: all at once by one call of a
 * patched driver. */
GPREEMPT_POC_API int gpreempt_batch_unmap_queues(uint32_t* qids, uint32_t num, uint32_t grace_us);

/* Puts them back, as gpreempt_resume_queues() does. */
GPREEMPT_POC_API int gpreempt_fast_remap_queues(uint32_t* qids, uint32_t num);

/* Sets aside hardware slots for online queues on a GPU, or on all with gpu_id 0, until the process
 * ends or sets it anew: gpreempt_reserve_percent() says how many. EINVAL if the two add up to more
 * than 100; EPERM without CAP_SYS_NICE; ENOTSUP without the patches: KFD does not choose the
 * slots. */
GPREEMPT_POC_API int gpreempt_set_hqd_reservation(uint32_t gpu_id, uint32_t online_pct,
                                                  uint32_t offline_pct);

/* Hardware slots for compute queues, of all GPUs together. */
typedef struct gpreempt_hqd_status {
  uint32_t total;
  uint32_t active; /* occupied now */
  uint32_t free;
  uint32_t online_reserved; /* by whomever; without the patches none */
  uint32_t offline_used;    /* occupied by queues of offline processes */
} gpreempt_hqd_status_t;

/* Reads debugfs. ENOTSUP if what is asked for cannot be known here. */
GPREEMPT_POC_API int gpreempt_get_hqd_status(gpreempt_hqd_status_t* status);

#ifdef __cplusplus
}
#endif

#endif
