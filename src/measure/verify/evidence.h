// What goes into the archive beside the results: how this machine is made, in plain text files.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace gp::verify {

struct File {
  std::string name, content;
};

// Kernel, processors, ROCm's release, container or not, rights, and the variables that ROCm reads.
std::string environment_text(const std::string& gpreempt_version, const std::string& runtime);
// The module's version and parameters.
std::string parameters_text();
// The nodes as the driver describes them.
std::string topology_text();
// The driver's own lists of queues; says why not where they cannot be read.
std::string debugfs_text();

// The names of this machine and this user, and of the one who has become root by sudo, become
// "host" and "user", where they stand as words.
std::string anonymous(std::string text);
std::string host_name();

// Writes the files into the directory, then the archive of it beside it (with the program tar). The
// archive's path. ENOSPC and others name what could not be written.
Result<std::string> write_archive(const std::string& directory, const std::vector<File>& files);
// The archive that write_archive() would make.
std::string archive_of(const std::string& directory);

// A file of a directory, or of an archive made by write_archive().
Result<std::string> read_member(const std::string& directory_or_archive, const std::string& name);

}  // namespace gp::verify
