// A recording of what an Os answered, and an Os that answers from it: tests and benchmarks see a
// machine again that is not there.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "os/os.h"

namespace gp {

// Answers by path. A test may also write them by hand.
class Recording {
 public:
  template <class T>
  struct Answer {
    T value{};
    int code = 0;  // not 0: the answer was this errno
  };
  std::map<std::string, Answer<std::string>, std::less<>> files;
  std::map<std::string, Answer<std::vector<std::string>>, std::less<>> directories;
  std::map<std::string, Answer<std::string>, std::less<>> links;
  std::map<std::string, Answer<Os::FileStatus>, std::less<>> statuses;

  // A file with the directories above it.
  void add_file(const std::string& path, std::string text);
  // A directory, maybe an empty one, with those above it.
  void add_directory(const std::string& path);
  // A file or a directory with everything below it; its parent's listing loses it.
  void remove(const std::string& path);

  // As one text, for a file.
  std::string save() const;
  static Result<Recording> load(std::string_view text);
};

// Passes every question on and notes the answer; the last answer to a question counts.
class RecordingOs final : public Os {
 public:
  RecordingOs(Os& below, Recording& recording) : below_(below), recording_(recording) {}
  Result<std::string> read_file(const std::string& path) override;
  Result<std::vector<std::string>> list_directory(const std::string& path) override;
  Result<std::string> read_link(const std::string& path) override;
  Result<FileStatus> status(const std::string& path) override;
  Result<UniqueFd> open(const std::string& path, int flags) override;

 private:
  Os& below_;
  Recording& recording_;
};

// What was never asked when recording does not exist (ENOENT). Files cannot be opened (ENOTSUP).
class ReplayingOs final : public Os {
 public:
  explicit ReplayingOs(const Recording& recording) : recording_(recording) {}
  Result<std::string> read_file(const std::string& path) override;
  Result<std::vector<std::string>> list_directory(const std::string& path) override;
  Result<std::string> read_link(const std::string& path) override;
  Result<FileStatus> status(const std::string& path) override;
  Result<UniqueFd> open(const std::string& path, int flags) override;

 private:
  const Recording& recording_;
};

}  // namespace gp
