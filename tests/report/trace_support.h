// Traces as the daemon sends them.
#pragma once

#include <fmt/format.h>

#include <string>

#include "libc/types.h"

namespace gp::report {

// One line; `pid` 0: of the whole job.
inline std::string event(u64 number, u64 time_us, const char* what, const char* work_class, u64 job,
                         int pid = 0, u64 value_ns = 0) {
  return fmt::format(
      R"({{"number":{},"time_us":{}.000,"event":"{}","class":"{}","job":{},"pid":{},"value":{}}})"
      "\n",
      number, time_us, what, work_class, job, pid == 0 ? "null" : std::to_string(pid), value_ns);
}

// Job 1 is offline and busy throughout; job 2, online, has one request from 1000 to 5000 us.
inline std::string one_preemption() {
  return event(0, 100, "process_joined", "offline", 1, 11) + event(1, 200, "busy", "offline", 1) +
         event(2, 500, "process_joined", "online", 2, 22) + event(3, 1000, "busy", "online", 2) +
         event(4, 1010, "stop_decided", "offline", 1) +
         event(5, 1300, "process_stopped", "offline", 1, 11, 290'000) +
         event(6, 5000, "idle", "online", 2) + event(7, 6000, "start_decided", "offline", 1) +
         event(8, 6200, "process_started", "offline", 1, 11, 200'000) +
         event(9, 9000, "process_left", "online", 2, 22);
}

}  // namespace gp::report
