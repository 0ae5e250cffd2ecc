// The connection to gpreemptd: found when it appears, used by the agent's thread alone.
//
// Nothing is polled. Without a daemon the thread sleeps on an inotify watch of the socket's
// directory, or of the nearest ancestor that exists. Only in the moment between bind() and listen()
// of a daemon that is starting are a few attempts made in a row. Where the watch is refused (there
// is a limit of inotify instances per user) an attempt is made every second.
#pragma once

#include "wire/socket_path.h"
#include "wire/wire.h"

namespace gp::agent {

class Link {
 public:
  bool prepare();  // false: no socket path can be made

  // Tries to connect; if that fails, arms the watch for a later try. True when connected.
  bool try_connect();
  bool connected() const { return socket_ >= 0; }
  // The connection is of no use any more. `was_good`: the daemon had taken us, and its successor
  // may be there already; otherwise another try is made only later.
  void disconnect(bool was_good);
  void close_all();

  int socket() const { return socket_; }
  int watch_fd() const { return inotify_; }
  void drain_watch() const;
  // When to try again, CLOCK_MONOTONIC, although the watch is quiet; kNever: not at all.
  u64 retry_at_ns() const { return retry_at_ns_; }
  static constexpr u64 kNever = ~u64{0};

  // -errno: the daemon does not read or has gone.
  int send(const wire::Header& message) const;
  // One message into `buffer`: its size, 0 at the end of the connection, -EAGAIN if there is none,
  // -EBADMSG if it is none of ours. The files of a welcome, or -1, are the caller's to close.
  int receive(void* buffer, u32 bytes, int (&files)[2]) const;

 private:
  int connect_once(char* path);
  bool arm_watch();
  bool watch_directory_of(const char* path) const;
  void retry_later(bool armed);

  char path_[wire::kSocketPathBytes] = {};
  char second_path_[64] = {};  // the system's daemon, tried when the user has none; empty: not
  int socket_ = -1;
  int inotify_ = -1;
  u64 retry_ms_ = 0;  // the wait before the next try
  u64 retry_at_ns_ = kNever;
};

}  // namespace gp::agent
