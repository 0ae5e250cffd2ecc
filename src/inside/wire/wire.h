// What agents, the command line and the C API say to gpreemptd, and what it answers: messages on
// one Unix SEQPACKET socket. Fixed header, one message per packet, no strings longer than their
// field. Plain data for libc-only code; a reader checks magic, version, size and kind before
// anything else.
//
// Who may say what is decided by SO_PEERCRED, never by what a message claims; pids in messages are
// those of the sender's pid namespace and are only used to find the sender's own entry.
#pragma once

#include "base/types.h"

namespace gp::control {

constexpr u32 kMagic = 0x70726770;  // "gprp"
constexpr u16 kVersion = 2;
constexpr u32 kMaxMessage = 64 * 1024;
constexpr u32 kMaxQueuesPerMessage = 1024;  // KFD's limit per process

enum class Kind : u16 {
  // agent -> daemon
  hello = 1,        // Hello, with two files: page memfd, wake eventfd
  queue_created,    // QueueCreated
  queue_destroyed,  // QueueDestroyed
  done,             // Done: a command was carried out
  // daemon -> agent
  welcome = 32,  // Welcome
  stop,          // Command
  start,         // Command
  gate,          // GateCommand
  // client -> daemon
  status = 64,   // empty; answered by text (JSON)
  online_begin,  // OnlineMark: the sender's process is busy although no packet shows it
  online_end,    // OnlineMark
  set_job,       // SetJob: class, priority, tag, job of a process of one's own
  suspend,       // Suspend: a lease held by the connection
  resume,        // Resume
  reload,        // empty
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

// discover::WorkClass, and "the daemon decides".
enum class ClassCode : u32 { offline = 0, normal = 1, online = 2, unset = 0xffffffff };
constexpr u32 kPriorityUnset = 0xffffffff;

// What the agent can do here, found by probing at load.
enum Ability : u32 {
  can_self_debug = 1,
  can_update_queue = 2,
  can_gate = 4,
  can_early_ioctl = 8,
};

struct Hello {
  Header header{.kind = Kind::hello, .size = sizeof(Hello)};
  u32 pid = 0;        // as the agent sees it
  u32 abilities = 0;  // Ability bits
  ClassCode work_class = ClassCode::unset;
  u32 priority = kPriorityUnset;  // 0..15
  u64 start_time = 0;             // of /proc/self/stat
  char tag[64] = {};              // zero-terminated
  char job[64] = {};
};

enum class Method : u32 { self_debug = 1, update_queue = 2, early_ioctl = 3, gate = 4 };

struct Welcome {
  Header header{.kind = Kind::welcome, .size = sizeof(Welcome)};
  ClassCode work_class = ClassCode::unset;  // as the daemon decided
  u32 watch_completion = 0;  // 1: report idle and busy (online); 0: never wake the daemon
  u64 lease_ns = 0;          // the longest stop without a word from the daemon
  u32 method = 0;            // Method by which it will be stopped, to get ready for; 0: by none
  u32 prompt = 0;            // 1: online work will wait for its stops; real-time, if permitted
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

// Stop or start all queues of the receiving process.
struct Command {
  Header header{.kind = Kind::stop, .size = sizeof(Command)};
  Method method = Method::self_debug;
  u32 grace_1k_clocks = 0;  // 0: the driver's default
  u64 deadline_ns = 0;      // CLOCK_MONOTONIC; the page's deadline overrides it when it is later
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
  ClassCode work_class = ClassCode::unset;
  u32 priority = kPriorityUnset;
  u32 pad = 0;
  u64 latency_target_us = 0;  // for the slo policy; 0: none
  char tag[64] = {};
  char job[64] = {};
};

struct Suspend {
  Header header{.kind = Kind::suspend, .size = sizeof(Suspend)};
  u32 pid = 0;
  u32 queues = 0;  // number of ids that follow; 0: all
  u64 duration_ns = 0;
  char mechanism[32] = {};  // empty: the daemon chooses
  // u32 queue_ids[queues]
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

}  // namespace gp::control
