// The sections of the page below its top. Each is empty if there is nothing to say.
#pragma once

#include <string>

#include "report/results.h"

namespace gp::report {

std::string verdict_section(const Results& results);
std::string latency_section(const Results& results);
std::string timeline_section(const Results& results);
std::string throughput_section(const Results& results);
std::string scheme_section(const Results& results);
std::string advice_section(const Results& results);
std::string environment_section(const Results& results);

}  // namespace gp::report
