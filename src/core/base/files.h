// Whole files, in and out.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace gp {

// Files of the kernel, whose size is not known beforehand, can be read too. The start of one that
// is longer than `most`.
Result<std::string> read_file(const std::string& path, std::size_t most = std::string::npos);

// Readers see the old content or the new, never a part.
Status write_file(const std::string& path, std::string_view content);

}  // namespace gp
