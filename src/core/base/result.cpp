#include "base/result.h"

#include <cstring>

namespace gp {

std::string Error::message() const {
  std::string text = what;
  if (code != 0) {
    text += ": ";
    text += std::strerror(code);
  }
  if (!hint.empty()) {
    text += " (hint: " + hint + ")";
  }
  return text;
}

}  // namespace gp
