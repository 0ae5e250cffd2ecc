// What the page looks like (style.cpp), and what its script does (script.cpp).
#pragma once

namespace gp::report {

extern const char kStyle[];   // CSS
extern const char kScript[];  // zooms the timelines

}  // namespace gp::report
