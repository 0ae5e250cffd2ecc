// The command line of an example: options with a value, flags, and one number without a name.
//
//   Options options(argc, argv, "trainer [STEPS] [--batch N]");
//   const unsigned batch = options.number("--batch", 256);
//   options.finish();  // what nobody asked for is an error
#pragma once

#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

class Options {
 public:
  Options(int argc, char** argv, const char* usage) : usage_(usage), words_(argv + 1, argv + argc) {
    if (flag("--help")) {
      std::printf("usage: %s\n", usage_);
      std::exit(0);
    }
  }

  bool flag(const char* name) {
    for (auto word = words_.begin(); word != words_.end(); ++word) {
      if (*word == name) {
        words_.erase(word);
        return true;
      }
    }
    return false;
  }

  std::string text(const char* name, const std::string& otherwise = "") {
    for (auto word = words_.begin(); word != words_.end(); ++word) {
      if (*word == name) {
        if (word + 1 == words_.end()) {
          fail(*word + " needs a value");
        }
        std::string value = *(word + 1);
        words_.erase(word, word + 2);
        return value;
      }
    }
    return otherwise;
  }

  unsigned number(const char* name, unsigned otherwise, unsigned lowest = 1) {
    const std::string value = text(name);
    return value.empty() ? otherwise : whole(name, value, lowest);
  }

  double decimal(const char* name, double otherwise) {
    const std::string value = text(name);
    if (value.empty()) {
      return otherwise;
    }
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    if (*end != '\0' || !std::isfinite(number) || number < 0) {
      fail(std::string(name) + " " + value + ": not a number");
    }
    return number;
  }

  // The number without a name. Ask for it last but finish(): it is the word that is left.
  unsigned positional(unsigned otherwise, unsigned lowest = 1) {
    if (words_.empty() || words_.front().compare(0, 1, "-") == 0) {
      return otherwise;
    }
    const std::string value = words_.front();
    words_.erase(words_.begin());
    return whole("the number", value, lowest);
  }

  void finish() const {
    if (!words_.empty()) {
      fail("unknown: " + words_.front());
    }
  }

  [[noreturn]] void fail(const std::string& what) const {
    std::fprintf(stderr, "%s\nusage: %s\n", what.c_str(), usage_);
    std::exit(2);
  }

 private:
  unsigned whole(const std::string& name, const std::string& value, unsigned lowest) const {
    char* end = nullptr;
    errno = 0;
    const unsigned long number = std::strtoul(value.c_str(), &end, 10);
    if (end == value.c_str() || *end != '\0' || value[0] == '-' || errno != 0 || number > INT_MAX ||
        number < lowest) {
      fail(name + " " + value + ": not a whole number from " + std::to_string(lowest) + " on");
    }
    return static_cast<unsigned>(number);
  }

  const char* usage_;
  std::vector<std::string> words_;
};
