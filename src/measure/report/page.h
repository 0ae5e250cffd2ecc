// The page (report.html), from its top to its last section, and the one picture of it for a README.
// Each part is a function of the results and is empty if there is nothing to say.
#pragma once

#include <string>
#include <vector>

#include "report/results.h"

namespace gp::report {

// The page as a whole.
std::string html_page(const Results& results);

// The sections below its top (sections.cpp).
std::string verdict_section(const Results& results);
std::string latency_section(const Results& results);
std::string token_section(const Results& results);
std::string timeline_section(const Results& results);
std::string throughput_section(const Results& results);
std::string scheme_section(const Results& results);
std::string advice_section(const Results& results);
std::string environment_section(const Results& results);

// What limits the results, and what to try next (advice.cpp): one rule per line of a table.
struct Advice {
  std::string finding;  // with its number
  std::string remedy;   // which mechanism, which setting, which machine
};

// The most important first; empty if no rule applies.
std::vector<Advice> advice_for(const Results& results);

// The result in one picture (picture.cpp), a file of its own that needs no page around it:
// latencies of the phases, and one preemption from near. Empty if no phase has latencies.
std::string picture(const Results& results);

// What the page looks like, and what its script does (style.cpp).
extern const char kStyle[];   // CSS
extern const char kScript[];  // zooms the timelines

}  // namespace gp::report
