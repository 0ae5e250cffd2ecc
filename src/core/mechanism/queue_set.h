// What attachments have in common: checking what they are given, and telling what happened.
#pragma once

#include <span>
#include <vector>

#include "mechanism/mechanism.h"
#include "stop/queue_table.h"

namespace gp::mechanism {

// EINVAL unless each id is in range and named once, and there are at most 1024.
Status check_queue_ids(pid_t pid, std::span<const u32> ids);
// The driver's value: 1..255, or the one for its default. EINVAL for anything else.
Result<u32> driver_grace(const StopOptions& options);

std::vector<KnownQueue> known_queues(const stop::QueueTable& table);

// One report per id, `done` unless the queue was in the wanted state before.
std::vector<QueueReport> reports_for(stop::QueueTable& table, std::span<const u32> ids,
                                     bool stopping);
// After a stop that succeeded: an id the table did not know before it has been found since.
std::vector<QueueReport> mark_done(std::vector<QueueReport> reports);
std::vector<u32> all_ids(const stop::QueueTable& table);

// What went wrong in a session's stop, in words: `error` is -errno, `bad` the queue.
Error stop_error(pid_t pid, int error, u32 bad);
// For calls that are not about one queue.
Error session_error(pid_t pid, const char* what, int error);

Error no_queues_error(pid_t pid);

// The hint for EPERM of a stop: what runtimes before ROCm 6 leave out.
extern const char kRuntimeHint[];

}  // namespace gp::mechanism
