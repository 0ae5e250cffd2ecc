// The words of a command as exec and posix_spawn want them.
#pragma once

#include <string>
#include <vector>

namespace gp {

// Points into `words`, which must outlive it; ends with a null pointer.
inline std::vector<char*> argument_pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace gp
