#include <cerrno>

#include "mechanism/attachments.h"

namespace gp::mechanism {

Result<std::unique_ptr<Attachment>> attach_criu(const discover::ProcessKey&, const AttachOptions&) {
  return Error{EOPNOTSUPP, "criu", ""};
}

}  // namespace gp::mechanism
