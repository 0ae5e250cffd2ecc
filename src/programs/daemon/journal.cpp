#include "daemon/journal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/log.h"
#include "base/unique_fd.h"

namespace gp::daemon {

struct Journal::Record {
  static constexpr u32 kMagic = 0x336e726a;  // "jrn3": another when Mechanism gets other numbers
  u32 magic = 0;                             // 0: free
  u32 mechanism = 0;
  i64 pid = 0;
  u64 start_time = 0;
  u64 checksum = 0;

  // FNV-1a over the content and the place, so that neither a torn nor a misplaced record passes.
  u64 checksum_at(u64 index) const {
    u64 sum = 0xcbf29ce484222325;
    for (const u64 value : {index, u64{magic}, u64{mechanism}, static_cast<u64>(pid), start_time}) {
      for (int shift = 0; shift < 64; shift += 8) {
        sum = (sum ^ ((value >> shift) & 0xff)) * 0x100000001b3;
      }
    }
    return sum;
  }
  bool is_free() const { return magic == 0 && pid == 0 && checksum == 0; }
};

namespace {
constexpr const char* kHint = "the runtime directory must be writable by the daemon";
}

Result<std::unique_ptr<Journal>> Journal::open(const std::string& path, JournalContent& left) {
  constexpr off_t kBytes = sizeof(Record) * kEntries;
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    return Error{errno, "open " + path, kHint};
  }
  if (status.st_uid != ::geteuid() || status.st_nlink != 1 || !S_ISREG(status.st_mode)) {
    return Error{EPERM, path + " is somebody else's", "name another socket: --socket"};
  }
  if (status.st_size != kBytes && status.st_size != 0) {
    ++left.damaged;
  }
  // With its memory: to write to a page that the file system has no room for would end us.
  const int no_room =
      ::ftruncate(file.get(), kBytes) != 0 ? errno : ::posix_fallocate(file.get(), 0, kBytes);
  if (no_room != 0) {
    return Error{no_room, "size " + path, kHint};
  }
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) {
    return Error{errno, "map " + path, kHint};
  }
  auto* records = static_cast<Record*>(memory);
  for (u32 i = 0; i < kEntries; ++i) {
    Record& record = records[i];
    if (record.is_free()) {
      continue;
    }
    if (record.magic == Record::kMagic && record.checksum == record.checksum_at(i) &&
        is_mechanism(record.mechanism) && record.pid > 0 &&
        record.pid <= std::numeric_limits<pid_t>::max()) {
      left.entries.push_back({{static_cast<pid_t>(record.pid), record.start_time},
                              static_cast<Mechanism>(record.mechanism)});
    } else {
      ++left.damaged;
    }
    record = {};
  }
  return std::unique_ptr<Journal>(new Journal(records));
}

Journal::~Journal() { ::munmap(records_, sizeof(Record) * kEntries); }

void Journal::add(const JournalEntry& entry) {
  for (u32 i = 0; i < kEntries; ++i) {
    Record& record = records_[i];
    const bool same =
        record.pid == entry.process.pid && record.start_time == entry.process.start_time;
    if (!record.is_free() && !same) {
      continue;
    }
    record.mechanism = static_cast<u32>(entry.mechanism);
    record.pid = entry.process.pid;
    record.start_time = entry.process.start_time;
    record.magic = Record::kMagic;
    // Whoever dies here leaves a record whose checksum is wrong, which is noticed.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    record.checksum = record.checksum_at(i);
    return;
  }
  log_warning("the journal is full: process {} is stopped without an entry", entry.process.pid);
}

void Journal::remove(const ProcessKey& process) {
  for (u32 i = 0; i < kEntries; ++i) {
    Record& record = records_[i];
    if (record.pid == process.pid && record.start_time == process.start_time) {
      record = {};
      return;
    }
  }
}

}  // namespace gp::daemon
