// The seam to files: sysfs, debugfs, /proc and device files are read through an Os, so that the
// same code runs on the live system, on a saved copy of its files and on a recording.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "libc/types.h"

namespace gp {

class Os {
 public:
  virtual ~Os() = default;

  // The whole file. Virtual files change while they are read: the result is one pass over them.
  virtual Result<std::string> read_file(const std::string& path) = 0;
  // No more than so much of it: for what a stranger may have made long.
  virtual Result<std::string> read_start(const std::string& path, std::size_t most) {
    std::string text = TRY(read_file(path));
    text.resize(std::min(text.size(), most));
    return text;
  }
  // Names of the entries, without "." and "..", sorted; numbers by value.
  virtual Result<std::vector<std::string>> list_directory(const std::string& path) = 0;
  virtual Result<std::string> read_link(const std::string& path) = 0;
  struct FileStatus {  // of the file behind a link
    mode_t mode = 0;
    uid_t uid = 0;
    gid_t gid = 0;
    u64 device = 0;  // the file system it is on
    u64 node = 0;    // of a device file: which device it is
    u64 inode = 0;
    bool is_sysfs = false;  // on a real sysfs, whose inode numbers grow in order of creation
  };
  virtual Result<FileStatus> status(const std::string& path) = 0;
  virtual Result<UniqueFd> open(const std::string& path, int flags) = 0;
};

// The order of list_directory.
bool name_before(std::string_view left, std::string_view right);

// The running system, through libc's open, read, ...: a preloaded virtual GPU is seen.
Os& system_os();

}  // namespace gp
