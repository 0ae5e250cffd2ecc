// Text handed to a client as an open file.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace vgpu::server {

// A sealed memfd with this content, positioned at its start.
gp::Result<gp::UniqueFd> make_text_file(std::string_view text);

}  // namespace vgpu::server
