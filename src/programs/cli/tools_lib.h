// HSA_TOOLS_LIB, the list of libraries that ROCr loads into a program, and our agent in it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace gp::cli {

// Where libgpreempt_agent.so is: $GPREEMPT_AGENT, or beside this program as built or installed.
Result<std::string> find_agent();

// The list with `library` at its end; as it is if the library is in it already. ROCr splits it at
// spaces and takes the character after a backslash as it is (runtime.cpp, parse_tool_names).
std::string with_tool(std::string_view list, std::string_view library);

}  // namespace gp::cli
