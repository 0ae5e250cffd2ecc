// Results as JSON text.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "report/results.h"

namespace gp::report {

Result<std::string> to_json(const Results& results);
Result<Results> from_json(std::string_view text);

}  // namespace gp::report
