// The early API, second form: calls meant for a patched driver, by that driver's calls where it has
// them and by what an unpatched one has elsewhere. They use the exported calls of the first form
// alone: when a program has both libraries loaded, those may be the other library's, and it is that
// one which knows what ids mean.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "gpreempt/compat/gpreempt_poc_v2.h"
#include "lib/compat/session.h"

namespace {

// The one that stops queues by the calls of the patched driver that these were meant for.
constexpr char kBatchingMechanism[] = "kernel";

void say(const char* text, const char* more) {
  const char* quiet = std::getenv("GPREEMPT_POC_QUIET");
  if (quiet == nullptr || quiet[0] == '\0' || std::strcmp(quiet, "0") == 0) {
    std::fprintf(stderr, "gpreempt_poc_v2: %s%s\n", text, more);
  }
}

int fail(int code, const char* text) {
  say(text, "");
  errno = code;
  return -1;
}

// Of one GPU; none where the driver cannot reserve any.
gp::Result<gp::u32> reserved_slots(gpreempt_context& context, gp::u32 gpu_id) {
  gpreempt_slots slots{};
  slots.size = sizeof slots;
  const int result = gpreempt_slots_of(&context, gpu_id, &slots);
  if (result != 0 && result != -ENOTSUP) {
    return gp::compat::last_failure(result);
  }
  return slots.reserved;
}

// Sums a snapshot up; ENOTSUP if a reading is missing.
gp::Result<gpreempt_hqd_status_t> read_status() {
  const gp::compat::Context context = TRY(gp::compat::open_context());
  const gp::compat::Snapshot snapshot = TRY(gp::compat::take_snapshot(*context, true));
  const gp::Error unknown{ENOTSUP, "the use of hardware slots is not known here",
                          "it comes from debugfs, which is for root"};
  gpreempt_hqd_status_t status{};
  gpreempt_node node{};
  node.size = sizeof node;
  for (std::size_t i = 0; gpreempt_snapshot_node(snapshot.get(), i, &node) == 0; ++i) {
    constexpr gp::u32 needed = GPREEMPT_NODE_HQDS | GPREEMPT_NODE_HQDS_ACTIVE;
    if ((node.valid & needed) != needed) {
      return unknown;
    }
    status.total += node.hqds;
    status.active += node.hqds_active;
    status.online_reserved += TRY(reserved_slots(*context, node.gpu_id));
  }
  status.free = status.total - status.active;
  gpreempt_queue queue{};
  queue.size = sizeof queue;
  for (std::size_t i = 0; gpreempt_snapshot_queue(snapshot.get(), i, &queue) == 0; ++i) {
    if (queue.type != GPREEMPT_QUEUE_COMPUTE || queue.work_class != GPREEMPT_CLASS_OFFLINE) {
      continue;
    }
    if ((queue.valid & GPREEMPT_QUEUE_MAPPED) == 0) {
      return unknown;
    }
    status.offline_used += queue.mapped;
  }
  return status;
}

}  // namespace

int gpreempt_batch_unmap_queues(uint32_t* qids, uint32_t num, uint32_t grace_us) {
  const int result = gpreempt_suspend_queues(qids, num, grace_us);
  const char* mechanism = gpreempt_poc_last_mechanism();
  if (result == 0 && mechanism[0] != '\0' && std::strcmp(mechanism, kBatchingMechanism) != 0) {
    static std::once_flag told;
    std::call_once(told, say, "the driver's batch unmap was not used; queues are stopped with ",
                   mechanism);
  }
  return result;
}

int gpreempt_fast_remap_queues(uint32_t* qids, uint32_t num) {
  return gpreempt_resume_queues(qids, num);
}

int gpreempt_set_hqd_reservation(uint32_t gpu_id, uint32_t online_pct, uint32_t offline_pct) {
  if (online_pct > 100 || offline_pct > 100 - online_pct) {
    return fail(EINVAL, "gpreempt_set_hqd_reservation: the two add up to more than 100 percent");
  }
  static std::mutex mutex;
  static gp::compat::Context reserving;  // a reservation lives as long as its context
  const std::lock_guard lock(mutex);
  if (!reserving) {
    auto context = gp::compat::open_context();
    if (!context) {
      return fail(context.error().code, context.error().message().c_str());
    }
    reserving = std::move(*context);
  }
  const int result = gpreempt_reserve_percent(reserving.get(), gpu_id, online_pct, offline_pct);
  if (result == -ENOTSUP) {
    return fail(ENOTSUP,
                "gpreempt_set_hqd_reservation: this driver cannot reserve hardware slots (hint: "
                "its firmware chooses them; stop offline queues instead)");
  }
  return result == 0 ? 0 : fail(-result, gpreempt_error_text());
}

int gpreempt_get_hqd_status(gpreempt_hqd_status_t* status) {
  if (status == nullptr) {
    return fail(EINVAL, "gpreempt_get_hqd_status: no place for the status");
  }
  try {
    const gp::Result<gpreempt_hqd_status_t> read = read_status();
    if (!read) {
      return fail(read.error().code, read.error().message().c_str());
    }
    *status = *read;
    return 0;
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return -1;
  } catch (const std::exception& exception) {
    return fail(EIO, exception.what());
  }
}
