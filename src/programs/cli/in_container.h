// gpreempt verify --container: the same in a container that runs, because ROCm is there and not
// here. The release that this program is of is copied in, what comes of it is copied out, and both
// are removed in there, also after Ctrl-C. Whatever becomes of us, the program in the container
// ends with its standard input, as if by Ctrl-C.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace gp::cli {

// `words_for` has those that follow "gpreempt" for a directory of results; in the container it has
// the name of `output`, and they are brought to there. What the program has returned in there.
// ENOTSUP, with a hint, if it cannot be tried.
Result<int> verify_in_container(
    const std::string& container, const std::string& output,
    const std::function<std::vector<std::string>(const std::string& output)>& words_for);

}  // namespace gp::cli
