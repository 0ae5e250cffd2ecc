// The top of the page: the result in one sentence, in a few numbers, and in one table.
#pragma once

#include <string>

#include "report/results.h"

namespace gp::report {

std::string headline(const Results& results);      // the <h1> and the sentence under it
std::string number_tiles(const Results& results);  // empty without phases
std::string phase_table(const Results& results);   // empty without phases

}  // namespace gp::report
