// Text within HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace gp::report {

// For the content of elements and for attribute values in double or single quotes. Control
// characters that HTML forbids, and bytes that are no UTF-8, become U+FFFD.
std::string escape(std::string_view text);

}  // namespace gp::report
