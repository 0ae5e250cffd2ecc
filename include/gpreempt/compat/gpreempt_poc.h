/*
 * The early API, first form, on top of gpreempt.h: programs written against it compile and run.
 * New programs use <gpreempt/gpreempt.h>.
 *
 * Return values: 0, or -1 with errno set and a line on standard error that says what failed, on
 * what and what to do; GPREEMPT_POC_QUIET=1 in the environment keeps it off standard error, and
 * gpreempt_poc_last_error() returns it. Every function may be called from any thread.
 *
 * What a queue id means. KFD's ids are per process, and every process has a queue 0. Here an id
 * means the queue that the last result of gpreempt_get_all_queues() or gpreempt_find_queues_*()
 * that had this id showed. If that result had it in several processes, the id is ambiguous: EINVAL,
 * and the message names them. gpreempt_poc_set_target() settles it.
 *
 * How long queues stay suspended. This API has no deadlines, so the library holds a lease of
 * GPREEMPT_POC_LEASE_MS and a thread of its own renews it, until gpreempt_resume_queues(),
 * gpreempt_poc_cleanup() or the end of the process, however it ends: the queues run again then.
 */
#ifndef GPREEMPT_COMPAT_GPREEMPT_POC_H
#define GPREEMPT_COMPAT_GPREEMPT_POC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GPREEMPT_POC_API __attribute__((visibility("default")))

#define GPREEMPT_POC_LEASE_MS 10000
/* A priority that is not known: debugfs cannot be read. */
#define GPREEMPT_POC_UNKNOWN UINT32_MAX

typedef struct gpreempt_queue_info {
  uint32_t queue_id;
  uint32_t priority; /* 0..15, or GPREEMPT_POC_UNKNOWN */
  uint32_t gpu_id;
  pid_t process_id;
  bool is_active;         /* the driver lets it run; true if that is not known */
  uint64_t queue_address; /* of its ring; 0 if not known */
  char tag[64];           /* AMD_QUEUE_TAG of its process; "" if none */
} gpreempt_queue_info_t;

typedef gpreempt_queue_info_t queue_info_t;

/* Must come first. A second call does nothing. Fails with ENODEV or EACCES if the device cannot be
 * used. */
GPREEMPT_POC_API int gpreempt_poc_init(void);

/* Resumes everything this program has suspended and forgets all ids. */
GPREEMPT_POC_API void gpreempt_poc_cleanup(void);

/* From now on every id means a queue of this process; 0 takes that back. ESRCH if there is no such
 * process. */
GPREEMPT_POC_API int gpreempt_poc_set_target(pid_t pid);

/* What the last failed call of this thread said; "" if none failed. */
GPREEMPT_POC_API const char* gpreempt_poc_last_error(void);

/* The name of the mechanism that the last suspend of this thread used, "debugger"; "" if none. */
GPREEMPT_POC_API const char* gpreempt_poc_last_mechanism(void);

/* Suspends queues mid-kernel; all or nothing. One that this program has suspended already stays so.
 * At most 1024, each id once (EINVAL). `grace_period_us` is time for running waves to end by
 * themselves; the hardware counts it in 1024 GPU clocks, about as long as a microsecond, and takes
 * at most 255: more counts as 255, 0 is the driver's default. */
GPREEMPT_POC_API int gpreempt_suspend_queues(uint32_t* queue_ids, uint32_t num_queues,
                                             uint32_t grace_period_us);

/* Lets queues run again. A queue that is not suspended is no error. An id that only one suspended
 * queue has means that queue, whatever later results showed. Queues that were suspended by one call
 * are resumed by one driver call; if only some of them are named, the others run for a moment too
 * before they are suspended again. */
GPREEMPT_POC_API int gpreempt_resume_queues(uint32_t* queue_ids, uint32_t num_queues);

/* All queues of all processes that have an id. Free them with gpreempt_free_queue_info(). None is
 * no error: *queues is NULL then. */
GPREEMPT_POC_API int gpreempt_get_all_queues(gpreempt_queue_info_t** queues, uint32_t* num_queues);

/* Those with min_prio <= priority <= max_prio. Priorities come from debugfs: EACCES if it cannot be
 * read, rather than an empty result. */
GPREEMPT_POC_API int gpreempt_find_queues_by_priority(uint32_t min_prio, uint32_t max_prio,
                                                      gpreempt_queue_info_t** queues,
                                                      uint32_t* num_queues);

/* Those of one process. */
GPREEMPT_POC_API int gpreempt_find_queues_by_process(pid_t pid, gpreempt_queue_info_t** queues,
                                                     uint32_t* num_queues);

GPREEMPT_POC_API void gpreempt_free_queue_info(gpreempt_queue_info_t* queues);

#ifdef __cplusplus
}
#endif

#endif
