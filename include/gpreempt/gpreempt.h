/*
 * gpreempt: know every GPU queue on the machine, stop and restart any of them safely.
 *
 * A queue is named by process and id, never by the id alone: KFD's ids are small, per process and
 * used again. A process is named by its pid and its start time (field 22 of /proc/<pid>/stat), so
 * that a reused pid is never mistaken; start time 0 means "whoever has this pid now".
 *
 * Nobody stays frozen: every stop gives a lease with a deadline. The queues run again when the
 * lease is ended, its deadline passes, its owner dies, the context is closed, or this process dies
 * in any way.
 *
 *   gpreempt_context *context;
 *   gpreempt_lease *lease;
 *   struct gpreempt_stop_options options = {.size = sizeof(options), .duration_ns = 50000000};
 *
 *   if (gpreempt_open(NULL, &context) != 0 ||
 *       gpreempt_stop_process(context, pid, 0, &options, &lease) != 0)
 *     fprintf(stderr, "%s (%s)\n", gpreempt_error_text(), gpreempt_error_hint());
 *   ...
 *   gpreempt_lease_free(lease);  // its queues run again
 *   gpreempt_close(context);
 *
 * Conventions:
 *
 * - Return values: 0 or a count on success, a negative errno value on failure.
 *   gpreempt_error_text() then says what failed, on what.
 * - Structures passed in and out begin with `size`; set it to sizeof. A program built with an older
 *   or a newer header than the library keeps working: in options, a part the library does not know
 *   must be zero (-E2BIG otherwise) and a part it does not get counts as zero; zero always means
 *   the default. In results, what the library does not know is zero.
 * - Unknown is not zero: readings that could not be made have their bit in `valid` clear.
 * - Threads: every function may be called from any thread at any time, except that a handle must
 *   not be used while or after it is closed or freed. Leases may outlive their context: they have
 *   ended then.
 * - fork: handles are of no use in a child process. What a child does with them is refused with
 *   -ECHILD; closing and freeing release memory only.
 * - NULL handles are refused with -EINVAL; closing or freeing NULL does nothing.
 */
#ifndef GPREEMPT_GPREEMPT_H
#define GPREEMPT_GPREEMPT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GPREEMPT_API __attribute__((visibility("default")))
#else
#define GPREEMPT_API
#endif

/* ---- Version ------------------------------------------------------------------------------- */

#define GPREEMPT_VERSION_MAJOR 0
#define GPREEMPT_VERSION_MINOR 1
#define GPREEMPT_VERSION_PATCH 0
#define GPREEMPT_MAKE_VERSION(major, minor, patch) (((major) << 16) | ((minor) << 8) | (patch))
/* Of this header. */
#define GPREEMPT_VERSION \
  GPREEMPT_MAKE_VERSION(GPREEMPT_VERSION_MAJOR, GPREEMPT_VERSION_MINOR, GPREEMPT_VERSION_PATCH)

/* Returns the version of the library that runs, to compare with GPREEMPT_VERSION.
 * Thread-safe. Cannot fail. */
GPREEMPT_API uint32_t gpreempt_version(void);

/* Returns the same as text, "0.1.0". Thread-safe. Cannot fail. */
GPREEMPT_API const char* gpreempt_version_text(void);

/* ---- Errors -------------------------------------------------------------------------------- */

/* Returns what failed, on what, and why: "open /dev/kfd: Permission denied". It is about the last
 * call of this thread that failed, and stays until the next one fails. "" if none has.
 * Thread-safe: each thread has its own. */
GPREEMPT_API const char* gpreempt_error_text(void);

/* Returns what can be done about it: "add yourself to group render (gid 105)"; "" if nothing is
 * known. Thread-safe: each thread has its own. */
GPREEMPT_API const char* gpreempt_error_hint(void);

/* ---- Context ------------------------------------------------------------------------------- */

typedef struct gpreempt_context gpreempt_context;

struct gpreempt_open_options {
  size_t size;
  /* A saved copy of the driver's files is read, and nothing of the running system, if one of these
   * is set: `sysfs` is a copy of /sys/class/kfd/kfd, `debugfs` a folder with mqds, hqds and rls,
   * each of which may be missing. Such a context can take snapshots only. */
  const char* sysfs;
  const char* debugfs;
  /* Which priorities (0..15) make a process online or offline. 0: 10 and 5, or what
   * GPREEMPT_ONLINE_PRIORITY and GPREEMPT_OFFLINE_PRIORITY say. */
  uint32_t online_from;
  uint32_t offline_to;
  /* Where gpreemptd listens. NULL: where GPREEMPT_SOCKET says, or the usual place. */
  const char* socket;
};

/* Opens the library. Needs no device: what needs one says so when it is called. `options` may be
 * NULL. The context must be closed with gpreempt_close().
 * Returns 0; -EINVAL, -E2BIG for wrong options; -ENOMEM.
 * Thread-safe. */
GPREEMPT_API int gpreempt_open(const struct gpreempt_open_options* options,
                               gpreempt_context** context);

/* Ends all leases of the context, detaches from all processes and frees it. Leases, snapshots and
 * watches stay valid and must still be freed.
 * Not while another thread uses this context. */
GPREEMPT_API void gpreempt_close(gpreempt_context* context);

/* ---- Snapshot: what is there ------------------------------------------------------------- */

typedef struct gpreempt_snapshot gpreempt_snapshot;

/* Classes of work. */
#define GPREEMPT_CLASS_OFFLINE 1u
#define GPREEMPT_CLASS_NORMAL 2u
#define GPREEMPT_CLASS_ONLINE 3u

/* Types of queues. */
#define GPREEMPT_QUEUE_UNKNOWN 0u
#define GPREEMPT_QUEUE_COMPUTE 1u
#define GPREEMPT_QUEUE_SDMA 2u
#define GPREEMPT_QUEUE_SDMA_XGMI 3u

struct gpreempt_snapshot_options {
  size_t size;
  /* Leaves out debugfs, which is costly: reading it takes every process's lock in the driver and
   * thousands of GPU registers. Without it only ids, types and GPUs of queues are known. */
  uint32_t without_debugfs;
  /* Reads the number of occupied compute units of each process: registers again. */
  uint32_t with_occupancy;
};

/* Takes a snapshot of all GPUs, processes and queues. What cannot be read is unknown and named by a
 * warning (gpreempt_snapshot_warning). `options` may be NULL. Free it with
 * gpreempt_snapshot_free(). Returns 0; -ENODEV without the driver; -EINVAL, -E2BIG for wrong
 * options; -ENOMEM; other errno values of reading. Thread-safe. A snapshot never changes; it may be
 * read by many threads. */
GPREEMPT_API int gpreempt_snapshot_take(gpreempt_context* context,
                                        const struct gpreempt_snapshot_options* options,
                                        gpreempt_snapshot** snapshot);

/* Frees the snapshot and all texts that came from it.
 * Not while another thread uses this snapshot. */
GPREEMPT_API void gpreempt_snapshot_free(gpreempt_snapshot* snapshot);

/* Bits of gpreempt_node.valid. */
#define GPREEMPT_NODE_CUS (1u << 0)
#define GPREEMPT_NODE_XCCS (1u << 1)
#define GPREEMPT_NODE_HQDS (1u << 2)
#define GPREEMPT_NODE_HQDS_ACTIVE (1u << 3)
#define GPREEMPT_NODE_SAVE_AREA (1u << 4)

/* One GPU. Texts belong to the snapshot and are never NULL. */
struct gpreempt_node {
  size_t size;
  uint32_t valid;
  uint32_t gpu_id;
  const char* gfx;          /* "gfx942"; "" if unknown */
  const char* name;         /* "" if unknown */
  uint32_t cus;             /* compute units, of the whole node */
  uint32_t xccs;            /* partitions that work as one */
  uint32_t hqds;            /* hardware slots for compute queues */
  uint32_t hqds_active;     /* of those, occupied */
  uint64_t save_area_bytes; /* memory that each queue keeps for its waves' state */
};

/* Returns the number of GPUs, or -EINVAL. Thread-safe. */
GPREEMPT_API ssize_t gpreempt_snapshot_node_count(const gpreempt_snapshot* snapshot);

/* Reads the GPU at `index`. Returns 0; -EINVAL (`size`), -ENOENT (`index`). Thread-safe. */
GPREEMPT_API int gpreempt_snapshot_node(const gpreempt_snapshot* snapshot, size_t index,
                                        struct gpreempt_node* node);

/* Bits of gpreempt_process.valid. */
#define GPREEMPT_PROCESS_UID (1u << 0)
#define GPREEMPT_PROCESS_NAMESPACE_PID (1u << 1)
#define GPREEMPT_PROCESS_VRAM (1u << 2)

/* One process that has queues. Texts belong to the snapshot and are never NULL. */
struct gpreempt_process {
  size_t size;
  uint32_t valid;
  pid_t pid;
  uint64_t start_time; /* 0 if unknown */
  uint32_t work_class; /* GPREEMPT_CLASS_ */
  uid_t uid;
  pid_t namespace_pid; /* its pid in its own pid namespace, where that differs */
  uint32_t queues;     /* how many it has */
  const char* command; /* "python train.py"; "" if it may not be read */
  const char* tag;     /* AMD_QUEUE_TAG; "" if none */
  uint64_t vram_bytes; /* on all GPUs */
};

/* Returns the number of processes with queues, or -EINVAL. Thread-safe. */
GPREEMPT_API ssize_t gpreempt_snapshot_process_count(const gpreempt_snapshot* snapshot);

/* Reads the process at `index`. Returns 0; -EINVAL (`size`), -ENOENT (`index`). Thread-safe. */
GPREEMPT_API int gpreempt_snapshot_process(const gpreempt_snapshot* snapshot, size_t index,
                                           struct gpreempt_process* process);

/* Bits of gpreempt_queue.valid. */
#define GPREEMPT_QUEUE_ID (1u << 0)
#define GPREEMPT_QUEUE_PRIORITY (1u << 1)
#define GPREEMPT_QUEUE_MAPPED (1u << 2)
#define GPREEMPT_QUEUE_ACTIVE (1u << 3)
#define GPREEMPT_QUEUE_RING_BASE (1u << 4)
#define GPREEMPT_QUEUE_RING_BYTES (1u << 5)
#define GPREEMPT_QUEUE_READ_INDEX (1u << 6)
#define GPREEMPT_QUEUE_WRITE_INDEX (1u << 7)
#define GPREEMPT_QUEUE_DOORBELL (1u << 8)
#define GPREEMPT_QUEUE_SAVED_BYTES (1u << 9)

/* One queue. `process` is an index for gpreempt_snapshot_process(). */
struct gpreempt_queue {
  size_t size;
  uint32_t valid;
  pid_t pid;
  uint64_t start_time;
  uint32_t queue_id;
  uint32_t gpu_id;     /* 0 if unknown */
  uint32_t type;       /* GPREEMPT_QUEUE_COMPUTE, ... */
  uint32_t work_class; /* of its process */
  uint32_t priority;   /* 0..15 */
  uint32_t mapped;     /* 1: it has a hardware slot now */
  uint32_t active;     /* 1: the driver lets it run; 0: stopped or evicted */
  uint32_t doorbell;
  uint64_t ring_base;
  uint64_t ring_bytes;
  uint64_t read_index; /* in dwords; an AQL packet has 16. Of the last unmap if not mapped */
  uint64_t write_index;
  uint64_t saved_bytes; /* state of its waves, at the last unmap */
  size_t process;
};

/* Returns the number of queues of all processes, or -EINVAL. Thread-safe. */
GPREEMPT_API ssize_t gpreempt_snapshot_queue_count(const gpreempt_snapshot* snapshot);

/* Reads the queue at `index`. Returns 0; -EINVAL (`size`), -ENOENT (`index`). Thread-safe. */
GPREEMPT_API int gpreempt_snapshot_queue(const gpreempt_snapshot* snapshot, size_t index,
                                         struct gpreempt_queue* queue);

/* Returns the number of warnings: causes for which something is unknown. -EINVAL. Thread-safe. */
GPREEMPT_API ssize_t gpreempt_snapshot_warning_count(const gpreempt_snapshot* snapshot);

/* Returns a warning, one line; NULL if there is none at `index`. Thread-safe. */
GPREEMPT_API const char* gpreempt_snapshot_warning(const gpreempt_snapshot* snapshot, size_t index);

/* Bits of gpreempt_filter.match: the conditions that count. All of them must hold. */
#define GPREEMPT_MATCH_PID (1u << 0)
#define GPREEMPT_MATCH_CLASS (1u << 1)
#define GPREEMPT_MATCH_TAG (1u << 2)
#define GPREEMPT_MATCH_PRIORITY (1u << 3)
#define GPREEMPT_MATCH_RING (1u << 4)

struct gpreempt_filter {
  size_t size;
  uint32_t match;
  pid_t pid;
  uint32_t work_class;
  uint32_t priority_lowest; /* both inclusive; a queue of unknown priority does not match */
  uint32_t priority_highest;
  const char* tag;
  uint64_t ring_first; /* rings that begin here or later, */
  uint64_t ring_end;   /* and before here */
};

/* Finds queues: writes up to `capacity` indices for gpreempt_snapshot_queue() into `indices`, which
 * may be NULL if `capacity` is 0. `filter` NULL matches every queue.
 * Returns how many match, which may be more than `capacity`; -EINVAL, -E2BIG for a wrong filter.
 * Thread-safe. */
GPREEMPT_API ssize_t gpreempt_snapshot_find(const gpreempt_snapshot* snapshot,
                                            const struct gpreempt_filter* filter, size_t* indices,
                                            size_t capacity);

/* ---- Watch: queues that come and go ------------------------------------------------------- */

typedef struct gpreempt_watch gpreempt_watch;

struct gpreempt_event {
  size_t size;
  uint32_t appeared; /* 1: the queue is new; 0: it is gone */
  pid_t pid;
  uint64_t start_time;
  uint32_t queue_id;
  uint32_t gpu_id;
  uint32_t type; /* GPREEMPT_QUEUE_COMPUTE, ... */
  uint32_t reserved;
};

/* Starts to watch; does not use debugfs. The first events are the queues that are there already.
 * Returns 0; -ENODEV without the driver; -EINVAL for a context that reads a saved copy; -ENOMEM.
 * Thread-safe. */
GPREEMPT_API int gpreempt_watch_open(gpreempt_context* context, gpreempt_watch** watch);

/* Returns a descriptor that is readable when gpreempt_watch_next() may have an event, for poll(2)
 * and epoll(7). It belongs to the watch. -EINVAL. Thread-safe. */
GPREEMPT_API int gpreempt_watch_fd(const gpreempt_watch* watch);

/* Takes the next event. Never waits.
 * Returns 1 with an event, 0 if there is none now; -EINVAL (`size`); errno values of reading.
 * Thread-safe: each event goes to one caller. */
GPREEMPT_API int gpreempt_watch_next(gpreempt_watch* watch, struct gpreempt_event* event);

/* Ends the watch. Not while another thread uses it. */
GPREEMPT_API void gpreempt_watch_close(gpreempt_watch* watch);

/* ---- Mechanisms: the ways to stop queues -------------------------------------------------- */

/* One way to stop queues. All texts are constant. */
struct gpreempt_mechanism_info {
  size_t size;
  const char* name;       /* "debugger" */
  const char* needs;      /* for people: what must be there */
  const char* notes;      /* for people: what to know before using it */
  uint32_t level;         /* 3 saves running waves, 2 lets them end, 1 only holds back new work */
  uint32_t inside;        /* 1: runs inside the target process, by an agent: not for this API */
  uint32_t by_default;    /* 1: may be chosen without being named */
  uint32_t whole_process; /* 1: cannot stop single queues */
};

/* Returns the number of mechanisms. Thread-safe. Cannot fail. */
GPREEMPT_API ssize_t gpreempt_mechanism_count(void);

/* Reads the mechanism at `index`; the best is first. Returns 0; -EINVAL (`size`), -ENOENT
 * (`index`). Thread-safe. */
GPREEMPT_API int gpreempt_mechanism(size_t index, struct gpreempt_mechanism_info* info);

struct gpreempt_probe_result {
  size_t size;
  uint32_t usable;
  uint32_t reserved;
  char reason[256]; /* why not, or a remark; cut if longer */
  char hint[256];   /* what would make it usable */
};

/* Says whether a mechanism can be used on a process, by attaching to it and detaching again: its
 * queues are off the hardware for a moment.
 * Returns 0, with the answer in `result`; -ESRCH if there is no such process; -EINVAL if there is
 * no such mechanism. Thread-safe. */
GPREEMPT_API int gpreempt_probe(gpreempt_context* context, const char* mechanism, pid_t pid,
                                uint64_t start_time, struct gpreempt_probe_result* result);

/* ---- Stop and start ----------------------------------------------------------------------- */

typedef struct gpreempt_lease gpreempt_lease;

/* The longest lease: 24 hours. */
#define GPREEMPT_LONGEST_LEASE_NS UINT64_C(86400000000000)
/* The most queues of one process that one call takes. */
#define GPREEMPT_MOST_QUEUES 1024

struct gpreempt_stop_options {
  size_t size;
  uint64_t duration_ns;     /* until the queues run again by themselves; must be given */
  const char* mechanism;    /* NULL: the best that works */
  pid_t owner;              /* the lease ends when this process dies; 0: this one */
  uint32_t grace_1k_clocks; /* time for running waves to end by themselves, in 1024 GPU clocks,
                               1..255; 0: the driver's default */
};

struct gpreempt_queue_name {
  pid_t pid;
  uint32_t queue_id;
  uint64_t start_time; /* 0: whoever has the pid now */
};

/* Attaches to a process ahead of time, so that a later stop is one driver call. Needless, but for
 * speed. `mechanism` NULL: the best that works.
 * Returns 0 or what gpreempt_stop_process() returns.
 * Thread-safe. */
GPREEMPT_API int gpreempt_prepare(gpreempt_context* context, pid_t pid, uint64_t start_time,
                                  const char* mechanism);

/* Stops queues, of one or several processes. All or nothing: if one fails, those stopped before it
 * run again. Returns when the queues are off the hardware, their waves saved.
 * The lease must be freed with gpreempt_lease_free().
 * Returns 0, or
 *   -EINVAL   no queue, the same queue twice, more than GPREEMPT_MOST_QUEUES, no duration or more
 *             than GPREEMPT_LONGEST_LEASE_NS, grace above 255, no such mechanism
 *   -ESRCH    a process is gone, or its pid belongs to another one now
 *   -ENOENT   a process has no such queue, or no queues
 *   -EBUSY    another lease holds a queue, or another debugger the process
 *   -EPERM, -EACCES  the process or the device may not be used; -EPERM also for a process whose
 *             runtime did not enable debugging (ROCr before 6.0)
 *   -ENODEV   no device
 *   -ENOTSUP  no mechanism works here: gpreempt_error_text() says why for each
 *   and errno values of the driver.
 * Thread-safe. */
GPREEMPT_API int gpreempt_stop_queues(gpreempt_context* context,
                                      const struct gpreempt_queue_name* queues, size_t count,
                                      const struct gpreempt_stop_options* options,
                                      gpreempt_lease** lease);

/* Stops all queues of a process, those it creates during the lease too.
 * Returns what gpreempt_stop_queues() returns.
 * Thread-safe. */
GPREEMPT_API int gpreempt_stop_process(gpreempt_context* context, pid_t pid, uint64_t start_time,
                                       const struct gpreempt_stop_options* options,
                                       gpreempt_lease** lease);

/* Stops all queues of all processes of a class (GPREEMPT_CLASS_), but not those of this process.
 * Takes a snapshot first, with debugfs: who stops often keeps one and names the queues instead.
 * Returns what gpreempt_stop_queues() returns; -ENOENT if no process has this class.
 * Thread-safe. */
GPREEMPT_API int gpreempt_stop_class(gpreempt_context* context, uint32_t work_class,
                                     const struct gpreempt_stop_options* options,
                                     gpreempt_lease** lease);

/* How a lease is. */
#define GPREEMPT_LEASE_HELD 0       /* its queues are stopped */
#define GPREEMPT_LEASE_ENDED 1      /* by gpreempt_lease_end() or gpreempt_close() */
#define GPREEMPT_LEASE_DEADLINE 2   /* its time was over */
#define GPREEMPT_LEASE_OWNER_DIED 3 /* its owner died */
#define GPREEMPT_LEASE_TARGET_GONE 4
#define GPREEMPT_LEASE_FAILED 5 /* the driver would not restart its queues */

/* Ends the lease: its queues run again. Ending it twice, or after its deadline, is no error.
 * Returns 0; -EINVAL; errno values of the driver.
 * Thread-safe. */
GPREEMPT_API int gpreempt_lease_end(gpreempt_lease* lease);

/* Ends the lease if need be and frees it. Not while another thread uses it. */
GPREEMPT_API void gpreempt_lease_free(gpreempt_lease* lease);

/* Sets the deadline to `duration_ns` from now.
 * Returns 0; -EINVAL for a duration of 0 or above GPREEMPT_LONGEST_LEASE_NS; -ESTALE if the lease
 * has ended.
 * Thread-safe. */
GPREEMPT_API int gpreempt_lease_extend(gpreempt_lease* lease, uint64_t duration_ns);

/* Returns how the lease is, GPREEMPT_LEASE_; -EINVAL. Thread-safe. */
GPREEMPT_API int gpreempt_lease_state(const gpreempt_lease* lease);

/* Returns a descriptor that is readable once a lease of this context has ended by itself and
 * gpreempt_lease_state() has not been asked since. It belongs to the context.
 * -EINVAL, -ENODEV. Thread-safe. */
GPREEMPT_API int gpreempt_lease_fd(gpreempt_context* context);

/* What became of one queue of a stop. */
#define GPREEMPT_OUTCOME_STOPPED 0
#define GPREEMPT_OUTCOME_ALREADY 1 /* it was stopped before */
#define GPREEMPT_OUTCOME_INVALID 2 /* it went away meanwhile */
#define GPREEMPT_OUTCOME_FAILED 3

struct gpreempt_lease_queue_info {
  size_t size;
  pid_t pid;
  uint32_t queue_id;
  uint64_t start_time;
  uint32_t outcome;
  uint32_t reserved;
  const char* mechanism; /* constant */
};

/* Returns the number of queues that the stop was about, or -EINVAL. Thread-safe. */
GPREEMPT_API ssize_t gpreempt_lease_queue_count(const gpreempt_lease* lease);

/* Reads what became of the queue at `index`. Returns 0; -EINVAL (`size`), -ENOENT (`index`).
 * Thread-safe. */
GPREEMPT_API int gpreempt_lease_queue(const gpreempt_lease* lease, size_t index,
                                      struct gpreempt_lease_queue_info* info);

/* Where the time of the stop went: the library's own share apart from the driver's. */
struct gpreempt_stop_times {
  size_t size;
  uint64_t before_ns; /* from the call to the driver */
  uint64_t driver_ns;
  uint64_t after_ns; /* from the driver to the return */
};

/* Reads the times of the stop. Returns 0; -EINVAL. Thread-safe. */
GPREEMPT_API int gpreempt_lease_times(const gpreempt_lease* lease,
                                      struct gpreempt_stop_times* times);

/* ---- Hardware slots kept free for online work ---------------------------------------------- */

/* A driver with gpreempt's patches (docs/kernel.md) can keep hardware slots of a GPU free of the
 * processes that are of offline class, by the context's options, when the slots are reserved. They
 * get the other slots and take turns there. For those that start later, reserve again. The
 * reservation ends with the context, with this process, or when it is set to 0. It needs
 * CAP_SYS_NICE, for it concerns everybody on the GPU. */

/* Reserves `slots` slots of a GPU, or of every GPU with `gpu_id` 0; less than it has.
 * Returns 0, or
 *   -ENOTSUP  the driver has not the patches, or the GPU's slots are fixed
 *   -EPERM, -EACCES  the caller may not
 *   -EBUSY    another program has a reservation there
 *   -EINVAL   no slot would be left
 *   -ENODEV   no such GPU, or no device
 *   -ECHILD   the context belongs to the parent process
 * Thread-safe. */
GPREEMPT_API int gpreempt_reserve_slots(gpreempt_context* context, uint32_t gpu_id, uint32_t slots);

/* The same by shares of a GPU's slots: at least `online_percent` are for online work alone, and
 * offline work gets at most `offline_percent`; the larger demand counts, rounded up. Offline work
 * always keeps one slot. With 24 slots, 10 and 80 reserve 5; 0 and 100 reserve none.
 * Returns what gpreempt_reserve_slots() returns; -EINVAL also if the two are more than 100.
 * Thread-safe. */
GPREEMPT_API int gpreempt_reserve_percent(gpreempt_context* context, uint32_t gpu_id,
                                          uint32_t online_percent, uint32_t offline_percent);

/* The slots of a GPU as that driver counts them, whoever has reserved some. */
struct gpreempt_slots {
  size_t size;
  uint32_t slots; /* for compute queues */
  uint32_t reserved;
  uint32_t active_queues;  /* compute queues that the hardware is given; in turns if too many */
  uint32_t waiting_queues; /* of offline class, for a slot that is not reserved */
};

/* Reads them. Returns 0; -EINVAL (`size`), -ENOTSUP (as above), -EACCES, -ENODEV, -ECHILD.
 * Thread-safe. */
GPREEMPT_API int gpreempt_slots_of(gpreempt_context* context, uint32_t gpu_id,
                                   struct gpreempt_slots* slots);

/* ---- Scheduler: what gpreemptd is told ----------------------------------------------------- */

/* These need a running gpreemptd: -ENOENT or -ECONNREFUSED say that there is none, -ETIMEDOUT that
 * it does not answer within a second, and the program goes on without. The context connects at the
 * first call and once more after gpreemptd was restarted. */

/* Says that this process has online work to do from now on, whatever its queues show: before the
 * first packet of a request, or between packets that belong together. Offline jobs on its GPUs are
 * stopped as its own packets would stop them; returns when that is decided, not when it is done.
 * `latency_target_ns` is the time the work should be done in, for the policy `slo`; 0: none.
 * Calls nest: as many ends are needed. The mark ends with gpreempt_online_end(), gpreempt_close()
 * or this process. If gpreemptd is restarted, the mark is made again by the next call.
 * A process that is not classified otherwise becomes online by this.
 * Returns 0; -EINVAL; -ECHILD; -ENOSPC after 1024 begins without an end. Thread-safe. */
GPREEMPT_API int gpreempt_online_begin(gpreempt_context* context, uint64_t latency_target_ns);

/* Ends what the last gpreempt_online_begin() of this context began. Without gpreemptd it has ended
 * already, which is no error.
 * Returns 0; -EINVAL without a begin; -ECHILD. Thread-safe. */
GPREEMPT_API int gpreempt_online_end(gpreempt_context* context);

struct gpreempt_job_options {
  size_t size;
  pid_t pid;           /* 0: this process; others must be yours, or yours to govern */
  uint32_t work_class; /* GPREEMPT_CLASS_; 0: as it was */
  /* 1: `priority` (0..15) counts. It is gpreemptd's, for the policy `priority`; the driver's
   * priority of the queues stays what it is. */
  uint32_t has_priority;
  uint32_t priority;
  uint64_t latency_target_ns; /* of each request, for the policy `slo`; 0: as it was */
  const char* job; /* processes of one user with the same are one job, stopped together */
  const char* tag; /* shown by `gpreempt status`; both at most 63 bytes, NULL: as it was */
};

/* Registers a process, by default this one, as part of a job. It may be called before the process
 * has queues, and again to change something.
 * Returns 0; -EINVAL, -E2BIG for wrong options; -ENAMETOOLONG; -ESRCH if another process has no
 * queues; -EPERM if it belongs to another user; -ECHILD. Thread-safe. */
GPREEMPT_API int gpreempt_set_job(gpreempt_context* context,
                                  const struct gpreempt_job_options* options);

/* Writes what gpreemptd knows and does, as `gpreempt status --json` prints it: one JSON object in
 * UTF-8, of which up to `capacity` bytes are written to `text`, the zero at its end included.
 * `text` may be NULL if `capacity` is 0. The next call may have a longer text. Returns the length
 * of the whole text without that zero: it was cut if that is not below `capacity`. -EINVAL;
 * -ECHILD. Thread-safe. */
GPREEMPT_API ssize_t gpreempt_status_json(gpreempt_context* context, char* text, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
