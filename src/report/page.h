// The page as a whole.
#pragma once

#include <string>

#include "report/results.h"

namespace gp::report {

std::string html_page(const Results& results);

}  // namespace gp::report
