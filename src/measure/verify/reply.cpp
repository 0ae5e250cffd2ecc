#include "verify/reply.h"

#include <cstdlib>
#include <sstream>

namespace gp::verify {

double Reply::number(const std::string& name) const {
  return std::strtod(text(name).c_str(), nullptr);
}

std::string Reply::text(const std::string& name) const {
  const auto found = texts.find(name);
  return found == texts.end() ? "" : found->second;
}

Reply parse_reply(const std::string& line) {
  Reply reply;
  std::istringstream words(line);
  words >> reply.word;
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) {
      reply.texts[word.substr(0, equals)] = word.substr(equals + 1);
      continue;
    }
    char* end = nullptr;
    const double number = std::strtod(word.c_str(), &end);
    if (*end == '\0') {
      reply.list.push_back(number);
    }
  }
  return reply;
}

}  // namespace gp::verify
