// What a timeline shows, before it is drawn: lanes with marks on them.
#pragma once

#include <string>
#include <vector>

#include "report/results.h"

namespace gp::report {

struct Mark {
  double start_us = 0, end_us = 0;
  std::string shapes;  // its class: "online", "offline", "stopped", "stop", "start", "request"
  std::string title;   // what a pointer over it shows
  bool is_stop = false;
  double from = 0, to = 1;  // the part of the lane's height it takes
};

struct Lane {
  std::string name;
  std::vector<Mark> marks;
};

// Requests, from their intended arrival to their answer; then online, offline and other tracks;
// the scheduler last. Lanes without marks are left out.
std::vector<Lane> lanes_of(const Phase& phase);

}  // namespace gp::report
