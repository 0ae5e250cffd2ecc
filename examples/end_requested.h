// SIGTERM and SIGINT ask a workload to end early, with its results written. A second one ends it at
// once.
#pragma once

#include <csignal>

inline volatile std::sig_atomic_t end_requested_flag = 0;

inline bool end_requested() { return end_requested_flag != 0; }

inline void listen_for_end() {
  struct sigaction action {};
  action.sa_handler = [](int) { end_requested_flag = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
}
