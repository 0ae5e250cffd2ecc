// What a controller and the keeper of one target say to each other: a SEQPACKET socket, a request
// and its reply, one after the other. Both are of the same build, or the keeper ends at once.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "mechanism/helper_program.h"
#include "mechanism/mechanism.h"

namespace gp::mechanism::keeper {

constexpr char kName[] = "gpreempt-keeper";
constexpr char kVersion[] = "1";
constexpr int kControlFd = kFirstHelperFd;         // the socket
constexpr int kControllerFd = kFirstHelperFd + 1;  // a pidfd: a child of it may keep the socket
constexpr int kDescriptors = 2;

constexpr u32 kMostQueues = 1024;

enum class Verb : u32 { attach, queues, stop, stop_all, start, start_all, set_deadline };

struct Request {
  Verb verb = Verb::attach;
  u32 grace_1k_clocks = 0;  // 0: the driver's default
  u64 deadline_ns = 0;      // CLOCK_MONOTONIC; 0: none
  u32 report_queues = 0;
  u32 count = 0;
  u32 ids[kMostQueues] = {};
};

// Followed by `count` KnownQueue for Verb::queues, else by `count` QueueReport.
struct Reply {
  int error = 0;  // an errno
  u32 count = 0;
  pid_t keeper = 0;
  u32 pad = 0;
  DriverCall stop;
  char what[256] = {};
  char hint[256] = {};
};
constexpr std::size_t kMostReplyBytes = sizeof(Reply) + kMostQueues * sizeof(KnownQueue);

template <std::size_t N>
void put_text(char (&to)[N], std::string_view text) {
  std::memcpy(to, text.data(), std::min(text.size(), N - 1));
}

}  // namespace gp::mechanism::keeper
