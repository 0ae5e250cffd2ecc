#include "command.h"

#include <cmath>
#include <cstdlib>
#include <sstream>

namespace gp::load {

Command::Command(const std::string& line) {
  std::istringstream words(line);
  words >> word_;
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      error_ = word + " is not name=value";
      continue;
    }
    values_[word.substr(0, equals)] = word.substr(equals + 1);
  }
}

std::string Command::text(const std::string& name, const std::string& otherwise) {
  const auto value = values_.find(name);
  if (value == values_.end()) {
    return otherwise;
  }
  std::string text = value->second;
  values_.erase(value);
  return text;
}

double Command::number(const std::string& name, double otherwise, double least) {
  const std::string value = text(name, "");
  if (value.empty()) {
    return otherwise;
  }
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (*end != '\0' || !std::isfinite(number) || number < least || number > 4e9) {
    error_ = name + "=" + value + " is not a number from " + std::to_string(least) + " on";
    return otherwise;
  }
  return number;
}

std::uint32_t Command::whole(const std::string& name, std::uint32_t otherwise,
                             std::uint32_t least) {
  return static_cast<std::uint32_t>(number(name, otherwise, least));
}

std::optional<std::string> Command::error() const {
  if (!error_.empty()) {
    return error_;
  }
  if (!values_.empty()) {
    return "unknown: " + values_.begin()->first;
  }
  return std::nullopt;
}

}  // namespace gp::load
