// The directory of the socket: locked by the one daemon that uses it, with journal and lock file
// beside the socket.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gp::daemon {

struct RuntimeDirectory {
  std::string directory, socket, journal, lock;
  UniqueFd lock_file;  // held as long as the daemon lives
};

// Whether the file at `path` is the one that `file` is open on.
bool is_at(const std::string& path, const UniqueFd& file);

// Makes the directory if need be. A socket that a daemon before has left stays there: it is
// replaced when ours can be connected to (Peers). EEXIST if another daemon has the same socket.
Result<RuntimeDirectory> claim_directory(const std::string& socket_path);

}  // namespace gp::daemon
