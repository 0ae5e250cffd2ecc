// What agents, the command line and the C API say to gpreemptd, and what it answers: messages on
// one Unix SEQPACKET socket. Fixed header, one message per packet, no strings longer than their
// field. Plain data for libc-only code; a reader checks magic, version, size and kind before
// anything else.
//
// Who may say what is decided by SO_PEERCRED, never by what a message claims; pids in messages are
// those of the sender's pid namespace and are only used to find the sender's own entry. Nobody
// sends the daemon descriptors: to look at a stranger's file, or to close it, can take for ever.
#pragma once

#include <optional>

#include "libc/types.h"
#include "model/mechanism.h"
#include "model/part.h"
#include "model/work_class.h"

namespace gp::wire {

constexpr u32 kMagic = 0x70726770;  // "gprp"
constexpr u16 kVersion = 5;
constexpr u32 kMaxMessage = 64 * 1024;
constexpr u32 kMaxQueuesPerMessage = 1024;  // KFD's limit per process

enum class Kind : u16 {
  // agent -> daemon
  hello = 1,        // Hello
  queue_created,    // QueueCreated
  queue_destroyed,  // QueueDestroyed
  done,             // Done: a command was carried out
  refused,          // Refused, in place of a hello: no agent works in this process
  // daemon -> agent
  welcome = 32,  // Welcome; the first one with two files: page memfd, wake eventfd
  stop,          // Command
  start,         // Command
  gate,          // GateCommand: how many packets may pass; a shut gate is a stop by `gate`
  // client -> daemon
  status = 64,   // empty; answered by text (JSON)
  online_begin,  // OnlineMark: the sender's process is busy although no packet shows it
  online_end,    // OnlineMark
  set_job,       // SetJob: class, priority, tag, job of a process of one's own
  suspend,       // Suspend: a lease held by the connection; the whole job, by its best mechanism
  resume,        // Resume
  trace,         // empty; answered by text: one JSON object per line, the latest events
  // daemon -> client
  text = 96,  // text follows the header; full messages are followed by more (frame.h)
  result,     // ResultMessage
};

struct Header {
  u32 magic = kMagic;
  u16 version = kVersion;
  Kind kind{};
  u32 size = 0;      // of the whole message, header included
  u32 sequence = 0;  // chosen by the asker, repeated in the answer
};
static_assert(sizeof(Header) == 16);

// A WorkClass as a number, or "the daemon decides".
constexpr u32 kClassUnset = 0xffffffff;
constexpr u32 code_of(WorkClass work_class) { return static_cast<u32>(work_class); }
constexpr std::optional<WorkClass> class_of(u32 code) {
  return code <= code_of(WorkClass::online) ? std::optional(static_cast<WorkClass>(code))
                                            : std::nullopt;
}
constexpr u32 kPriorityUnset = 0xffffffff;

// The agent has a connection for each part of its process that has queues: each is stopped, watched
// and leased by itself.
struct Hello {
  Header header{.kind = Kind::hello, .size = sizeof(Hello)};
  u32 pid = 0;        // as the agent sees it
  u32 abilities = 0;  // MechanismSet bits: what the agent can do here, found by probing
  u32 work_class = kClassUnset;
  u32 priority = kPriorityUnset;  // 0..15
  u64 start_time = 0;             // of /proc/self/stat
  char tag[64] = {};              // zero-terminated
  char job[64] = {};
  u32 part = 0;  // a Part; the class above is that of the process
  u32 pad = 0;
};

// The process is stopped from outside where that is possible.
struct Refused {
  Header header{.kind = Kind::refused, .size = sizeof(Refused)};
  u32 pid = 0;  // these as in Hello
  u32 work_class = kClassUnset;
  u32 priority = kPriorityUnset;
  u32 pad = 0;
  char tag[64] = {};
  char job[64] = {};
  char reason[128] = {};  // for people; zero-terminated
};

struct Welcome {
  Header header{.kind = Kind::welcome, .size = sizeof(Welcome)};
  u32 work_class = kClassUnset;  // as the daemon decided
  u32 watch_completion = 0;      // 1: report idle and busy (online); 0: never wake the daemon
  u64 lease_ns = 0;              // the longest stop without a word from the daemon
  u32 mechanism = 0;             // by which it will be stopped, to get ready for; 0: by none
  u32 prompt = 0;                // 1: online work will wait for its stops; real-time, if permitted
};

struct QueueCreated {
  Header header{.kind = Kind::queue_created, .size = sizeof(QueueCreated)};
  u32 queue_id = 0;  // KFD's; kUnknownQueue if the agent could not learn it
  u32 gpu_id = 0;
  u64 ring_base = 0;
  u64 ring_bytes = 0;
};
constexpr u32 kUnknownQueue = 0xffffffff;

struct QueueDestroyed {
  Header header{.kind = Kind::queue_destroyed, .size = sizeof(QueueDestroyed)};
  u32 queue_id = 0;
  u32 pad = 0;
  u64 ring_base = 0;
};

// Stop or start the queues of the receiving part of a process, which may be all of them.
struct Command {
  Header header{.kind = Kind::stop, .size = sizeof(Command)};
  Mechanism mechanism = Mechanism::self_debug;
  u32 pad = 0;
  u64 deadline_ns = 0;  // CLOCK_MONOTONIC; the page's deadline overrides it when it is later
};

struct GateCommand {
  Header header{.kind = Kind::gate, .size = sizeof(GateCommand)};
  u32 window_packets = 0;  // 0: no packet passes
  u32 open = 0;            // 1: no gate
  u64 window_ns = 0;
};

struct Done {
  Header header{.kind = Kind::done, .size = sizeof(Done)};
  i32 error = 0;        // negative errno; 0: all queues
  u32 queues = 0;       // that changed state
  u64 received_ns = 0;  // CLOCK_MONOTONIC
  u64 driver_enter_ns = 0;
  u64 driver_leave_ns = 0;
};

struct OnlineMark {
  Header header{.kind = Kind::online_begin, .size = sizeof(OnlineMark)};
  u64 deadline_us = 0;  // latency target from now; 0: none
};

struct SetJob {
  Header header{.kind = Kind::set_job, .size = sizeof(SetJob)};
  u32 pid = 0;  // 0: the sender
  u32 work_class = kClassUnset;
  u32 priority = kPriorityUnset;
  u32 pad = 0;
  u64 latency_target_us = 0;  // for the slo policy; 0: none
  char tag[64] = {};
  char job[64] = {};
};

struct Suspend {
  Header header{.kind = Kind::suspend, .size = sizeof(Suspend)};
  u32 pid = 0;
  u32 pad = 0;
  u64 duration_ns = 0;
};

struct Resume {
  Header header{.kind = Kind::resume, .size = sizeof(Resume)};
  u32 pid = 0;
  u32 pad = 0;
};

struct ResultMessage {
  Header header{.kind = Kind::result, .size = sizeof(ResultMessage)};
  i32 error = 0;  // negative errno
  u32 pad = 0;
  char text[240] = {};  // for people: what and on what; behind a line feed, a hint
};

}  // namespace gp::wire
