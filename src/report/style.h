// What the page looks like, and what its script does.
#pragma once

namespace gp::report {

extern const char kStyle[];   // CSS
extern const char kScript[];  // zooms the timelines

}  // namespace gp::report
