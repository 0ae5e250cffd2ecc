// Unix SEQPACKET sockets with file descriptor passing: message boundaries are kept, a peer's
// identity is what the kernel says, and every descriptor is close-on-exec.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "libc/types.h"

namespace gp {

// Paths may be longer than sockaddr_un holds (108 bytes): they are then reached through
// /proc/self/fd of their directory. listen_on() fails with EADDRINUSE if the path exists.
Result<UniqueFd> listen_on(const std::string& path);
Result<UniqueFd> connect_to(const std::string& path);
// Waits for the next connection; EINTR and EAGAIN are returned as errors.
Result<UniqueFd> accept_from(int listener);

struct PeerIdentity {
  pid_t pid = 0;  // at the time of connect(), in our pid namespace; 0: not visible from here
  uid_t uid = 0;
  gid_t gid = 0;
  UniqueFd pidfd;  // of that process; empty if it has gone already
};
Result<PeerIdentity> identify_peer(int socket);

// Sends one message, whole, with at most four descriptors. Never raises SIGPIPE.
Status send_message(int socket, std::span<const u8> head, std::span<const u8> data = {},
                    std::span<const int> files = {});

struct Received {
  std::size_t size = 0;    // 0: the peer closed the connection
  bool truncated = false;  // the message or its descriptors did not fit
  std::vector<UniqueFd> files;
};
// Receives one message into `buffer`. Retries when a signal interrupts it.
Result<Received> receive_message(int socket, std::span<u8> buffer);

// For a socket that nobody is to send descriptors to: they can make whoever closes them wait. Has
// the kernel refuse them, also for connections that a listener accepts; false before Linux 6.16.
bool refuse_files(int socket);
// Receives one message as receive_message() does. One with descriptors is left where it is, if
// `look_first`, and counts as truncated: to receive it would close them here.
Result<Received> receive_without_files(int socket, std::span<u8> buffer, bool look_first);

}  // namespace gp
