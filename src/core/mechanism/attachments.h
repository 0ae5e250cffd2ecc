// How each mechanism attaches; mechanism.cpp chooses.
#pragma once

#include <memory>

#include "mechanism/mechanism.h"

namespace gp::mechanism {

Result<std::unique_ptr<Attachment>> attach_kernel(const ProcessKey& target,
                                                  const AttachOptions& options);
// An Attachment that closes the device after everything else of it.
Result<std::unique_ptr<Attachment>> attach_debugger(const ProcessKey& target,
                                                    const AttachOptions& options);
// update-queue, self-debug and early-ioctl: the target is this process.
Result<std::unique_ptr<Attachment>> attach_inside(Mechanism mechanism,
                                                  const AttachOptions& options);
Result<std::unique_ptr<Attachment>> attach_criu(const ProcessKey& target,
                                                const AttachOptions& options);

}  // namespace gp::mechanism
