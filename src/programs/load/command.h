// A line of the protocol: a word, then name=value. `offline ms=10 kernel=small`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace gp::load {

class Command {
 public:
  explicit Command(const std::string& line);

  const std::string& word() const { return word_; }
  std::string text(const std::string& name, const std::string& otherwise);
  // Not a number, or below `least`: remembered as the command's error.
  double number(const std::string& name, double otherwise, double least);
  std::uint32_t whole(const std::string& name, std::uint32_t otherwise, std::uint32_t least);

  // What is wrong with the line; values that nobody has asked for are.
  std::optional<std::string> error() const;

 private:
  std::string word_, error_;
  std::map<std::string, std::string> values_;
};

}  // namespace gp::load
