// Results for tests: any at all, and such as a demo makes.
#pragma once

#include "report/results.h"

namespace gp::report {

// Inside a property only: every field is random.
Results any_results();

// A demo on a virtual GPU: four phases, schemes and criteria, some of which fail.
Results demo_results();

}  // namespace gp::report
