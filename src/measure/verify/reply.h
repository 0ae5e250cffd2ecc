// A line that gpreempt-load says: a word, then name=value; what follows without "=" are numbers.
//   offline kernels=12 seconds=1.5 wrong_lanes=0
//   progress kernels=3 rounds 128 64
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gp::verify {

struct Reply {
  std::string word;
  std::map<std::string, std::string> texts;
  std::vector<double> list;

  // 0, or nothing, where it was not said.
  double number(const std::string& name) const;
  std::string text(const std::string& name) const;
};

Reply parse_reply(const std::string& line);

}  // namespace gp::verify
