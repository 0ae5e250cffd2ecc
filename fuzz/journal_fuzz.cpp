// Any bytes as a journal that a daemon has left: what it names is told or reported as damaged, and
// the journal works afterwards.
#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/journal.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gp;
  using namespace gp::daemon;
  set_log_level(LogLevel::error);
  const std::string path = "/dev/shm/gpreempt-fuzz-journal-" + std::to_string(::getpid());
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  // The first two bytes say where the rest is: a journal is mostly empty.
  const std::size_t at = size < 2 ? 0 : (data[0] + std::size_t{256} * data[1]) * 8 % 131072;
  fuzz::require(size < 2 || ::pwrite(file, data + 2, size - 2, static_cast<off_t>(at)) >= 0,
                "write the file");
  ::close(file);
  for (int round = 0; round < 2; ++round) {
    JournalContent left;
    auto journal = Journal::open(path, left);
    fuzz::require(static_cast<bool>(journal), "a journal that cannot be opened");
    for (const JournalEntry& entry : left.entries) {
      fuzz::require(entry.process.pid > 0, "a process that is none");
    }
    fuzz::require(round == 0 || (left.entries.size() == 1 && left.damaged == 0),
                  "what was written is not there");
    (*journal)->add({{1234, 5}, Mechanism::criu});
    (*journal)->add({{1235, 6}, Mechanism::debugger});
    (*journal)->remove({1235, 6});
  }
  ::unlink(path.c_str());
  return 0;
}
