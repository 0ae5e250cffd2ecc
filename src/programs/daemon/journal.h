// What is stopped, in a file of the runtime directory: should everybody who knew of it die
// together, the next daemon finds it, unpauses what `criu` has paused, and logs the rest, which
// runs by then. What `kernel` has stopped is not in it: the kernel starts that when the daemon
// ends, however it does.
//
// The file is mapped, so that an entry costs a few stores and no system call, and it survives the
// death of its writer because the pages are the file's. Each entry has a checksum over its content
// and place; one that was half written, or damaged since, is told apart and reported.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "discover/snapshot.h"
#include "model/mechanism.h"

namespace gp::daemon {

struct JournalEntry {
  ProcessKey process;
  Mechanism mechanism = Mechanism::self_debug;
};

struct JournalContent {
  std::vector<JournalEntry> entries;
  u32 damaged = 0;  // entries, or the whole file, that cannot be trusted
};

class Journal {
 public:
  static constexpr u32 kEntries = 4096;

  // Opens or makes the file and reads what a predecessor left; then it is empty.
  static Result<std::unique_ptr<Journal>> open(const std::string& path, JournalContent& left);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  void add(const JournalEntry& entry);
  void remove(const ProcessKey& process);

 private:
  struct Record;
  Journal(Record* records) : records_(records) {}
  Record* records_;
};

}  // namespace gp::daemon
