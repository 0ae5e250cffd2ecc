// What the phases are called on the page, and which colour they have.
#pragma once

#include <string>

#include "report/results.h"

namespace gp::report {

// "both-with" -> "Both, with gpreempt"; other names stay.
std::string title_of(const Phase& phase);
// The class of its shapes: one of alone, without, with, other.
std::string class_of(const Phase& phase);
// The phase of that name, or none.
const Phase* find_phase(const Results& results, const std::string& name);

}  // namespace gp::report
