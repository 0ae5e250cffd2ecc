// Tests with several users: the test is root's, and has processes of others, which live in pid
// namespaces or with pids of its choice. Skipped if it is not root's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "daemon/daemon_support.h"

namespace gp::daemon {

constexpr uid_t kAlice = 60'001, kBob = 60'002;  // nobody else's, and in no /etc/passwd

struct Place {
  uid_t uid = 0;
  gid_t group = 60'000;  // a supplementary one; the primary one has the number of the user
  pid_t pid = 0;         // which must be free; 0: any
  bool own_pid_namespace = false;  // it is pid 1 there
};

// What the daemon answers on a connection: 0 or an errno; ECONNRESET if it closes that.
int ask_bytes(const UniqueFd& connection, std::span<const u8> message);
template <class Message>
int ask(const UniqueFd& connection, const Message& message) {
  return ask_bytes(connection, wire::bytes_of(message));
}

// A process that does what it is told, one thing at a time.
class Stranger {
 public:
  explicit Stranger(const Place& place);
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  ~Stranger();  // kills it

  pid_t pid() const { return pid_; }
  // Connects to the daemon from there. The connection can be used here: it is still theirs.
  UniqueFd connect(const std::string& socket) const;
  // Asks on a connection of its own, which it keeps.
  template <class Message>
  int ask(const std::string& socket, const Message& message) const {
    return daemon::ask(connect(socket), message);
  }
  // Only root can become others.
  void become(uid_t uid) const;
  // Makes a user namespace, as a container without root does, and becomes there the user whom the
  // host calls `uid`.
  void become_subordinate(uid_t uid) const;
  // What /proc says of its environment from now on: no more than it was started with.
  void have_environment(const std::string& text) const;
  void kill();

 private:
  [[noreturn]] static void obey(int commands);
  bool tell(const std::string& command) const;
  pid_t pid_ = 0;
  UniqueFd commands_;
};

class OtherUsersTest : public DaemonTest {
 protected:
  void SetUp() override;
};

}  // namespace gp::daemon
