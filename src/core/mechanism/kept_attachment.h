// An attachment that lives in a process of its own, the keeper: so that a stop ends at its deadline
// though whoever asked for it stands still (docs/leases.md).
#pragma once

#include <memory>

#include "mechanism/mechanism.h"

namespace gp::mechanism {

// As attach() of the mechanism in this process, which must be `debugger` or `criu`. ECHILD: no
// keeper can be started.
Result<std::unique_ptr<Attachment>> attach_kept(Mechanism mechanism, const ProcessKey& target);

}  // namespace gp::mechanism
