// Reads what a process says of itself in /proc: its command line and environment. To read them the
// kernel takes a lock of that process, which the process can keep for seconds. So a thread reads
// them, and the loop waits only as long as nobody minds; what comes later is posted to the loop.
//
//   who            owns                          when it dies
//   the loop       the list of who is read       what is read then is thrown away
//   a reader       one process's files           (a thread that hangs is left to the kernel)
//
// One reader at a time for each user: who blocks theirs waits for it alone.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "daemon/loop.h"
#include "daemon/who.h"
#include "discover/process_files.h"

namespace gp::daemon {

class Onlooker {
 public:
  using Facts = Result<discover::ProcessFacts>;
  using Done = std::function<void(const Facts&)>;
  // In a test: something slow.
  using Read = std::function<Facts(pid_t)>;
  static Facts read_files(pid_t pid);

  explicit Onlooker(Loop& loop, Read read = read_files);
  Onlooker(const Onlooker&) = delete;
  Onlooker& operator=(const Onlooker&) = delete;
  ~Onlooker();

  // Calls `done`, from here if the files are read at once, else from the loop.
  enum class Patience { a_moment, none };
  void look(pid_t pid, const Payer& payer, Patience patience, Done done);

 private:
  static constexpr u64 kMomentNs = 3'000'000;
  static constexpr std::size_t kMostWaiting = 1024;  // of one user: more are not looked at

  struct Anchor;
  struct Reading;
  struct Wish {
    pid_t pid;
    Done done;
  };
  std::shared_ptr<Reading> start(const Wish& wish, const Payer& payer);
  void finished(const Payer& payer);

  Loop& loop_;
  Read read_;
  std::map<Payer, std::deque<Wish>> waiting_;  // an entry for each who has a reader
  std::shared_ptr<Anchor> anchor_;
};

}  // namespace gp::daemon
