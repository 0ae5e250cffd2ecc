// The daemon's socket and everybody connected to it. The kernel says who a peer is, not the peer
// (who.h). A user, and a container, can disturb only themselves: what their connections cost
// together, in number, time of the loop and bytes that they do not read, is put on one account and
// bounded; who has used up the time waits, and others do not. One connection is bounded in size and
// rate of its messages. Containers and strangers together never take the last connections: those
// are for root and the daemon's own user.
#pragma once

#include <sys/stat.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/socket.h"
#include "client/frame.h"
#include "config/config.h"
#include "daemon/closer.h"
#include "daemon/loop.h"
#include "daemon/who.h"
#include "sched/measures.h"

namespace gp::daemon {

using PeerId = u64;

struct Peer {
  PeerId id = 0;
  UniqueFd socket;
  PeerIdentity who;
  Payer payer;
  std::optional<u64> process;  // the sched::ProcessId of who has connected, once it has mattered
  Loop::Token token = 0;
  bool paused = false;  // not read from: its user has used up the time
  sched::Allowance messages;
  std::deque<std::vector<u8>> outbox;
  std::size_t outbox_bytes = 0;
};

// Who can connect to the socket at `path`.
Status set_access(const std::string& path, const config::SocketAccess& access);

// What the peers of one user, or of one container, cost together.
struct Account {
  std::size_t connections = 0;
  std::size_t unread_bytes = 0;
  sched::Allowance time;      // in milliseconds of the loop
  std::deque<PeerId> paused;  // in the order in which they go on
};

class Peers {
 public:
  // False: the message is not one, the peer is cut off.
  using OnMessage = std::function<bool(Peer&, const wire::Header&, std::span<const u8>)>;
  using OnClosed = std::function<void(PeerId)>;
  // An agent that is about to be cut off because it speaks another version.
  using OnOtherVersion = std::function<void(const Peer&, u16 version)>;

  // Nobody may send descriptors. `by_kernel`: if it is new enough.
  enum class FilesRefused { by_kernel, by_hand };

  static Result<std::unique_ptr<Peers>> create(Loop& loop, const std::string& path,
                                               const config::SocketAccess& access,
                                               const config::Limits& limits, OnMessage on_message,
                                               OnClosed on_closed,
                                               FilesRefused files = FilesRefused::by_kernel);
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  ~Peers();

  void set_on_other_version(OnOtherVersion on_other_version) {
    on_other_version_ = std::move(on_other_version);
  }
  void set_limits(const config::Limits& limits) { limits_ = limits; }
  // Anew: in place of whatever is there. Those who are connected stay.
  Status listen(const std::string& path, const config::SocketAccess& access);
  // Whether it is our socket that is there.
  bool listens_at(const std::string& path) const;
  Peer* find(PeerId id);
  // Sends at once or, if the peer is slow, later. A peer that does not read is cut off.
  // Files can be sent to one who has been sent little yet.
  void send(PeerId id, std::span<const u8> message, std::span<const int> files = {});
  void send_text(PeerId id, std::string_view text, u32 sequence);
  // As much of a text as a message takes; send_text() ends it.
  void send_part(PeerId id, std::string_view full_part, u32 sequence);
  void send_result(PeerId id, u32 sequence, int error, std::string_view text);
  void close(PeerId id);
  std::size_t count() const { return peers_.size(); }
  // Goes on with those who have waited long enough. When to call it next.
  std::optional<u64> resume(u64 now_ns);

 private:
  static constexpr std::size_t kMostUnread = 4 << 20;
  static constexpr std::size_t kMostUnreadOfUser = 16 << 20;
  // A quarter of the loop's time; as much at once as nobody minds to wait for.
  static constexpr double kTimePerSecond = 250, kTimeAtOnce = 5;
  static constexpr int kResumedAtOnce = 8;
  static constexpr int kMessagesPerTurn = 16;          // then it is somebody else's turn
  static constexpr std::size_t kConnectionsKept = 16;  // for root and the daemon's own user

  Peers(Loop& loop, const config::Limits& limits, OnMessage on_message, OnClosed on_closed);
  void accept_one();
  void refuse_one();
  bool may_connect(const Payer& payer);
  Account& account_of(const Peer& peer) { return accounts_[peer.payer]; }
  bool has_time(const Account& account, u64 now_ns) const;
  void charge(const Payer& payer, u64 from_ns);
  void pause(Peer& peer);
  void forget(const Peer& peer);
  void forget_old_accounts(u64 now_ns);
  // Whether the peer stays.
  bool take_message(Peer& peer, const Received& received);
  void on_event(PeerId id, u32 events);
  void read_from(PeerId id);
  bool flush(Peer& peer);
  void close_socket(UniqueFd socket);

  Loop& loop_;
  config::Limits limits_;
  OnMessage on_message_;
  OnClosed on_closed_;
  OnOtherVersion on_other_version_ = [](const Peer&, u16) {};
  UniqueFd listener_;
  struct stat place_ {};            // of the socket in its directory
  std::unique_ptr<Closer> closer_;  // where the kernel does not refuse descriptors for us
  Loop::Token listener_token_ = 0;
  UniqueFd spare_;  // given up to refuse a connection when there are no descriptors left
  std::unordered_map<PeerId, std::unique_ptr<Peer>> peers_;
  std::map<Payer, Account> accounts_;
  std::set<Payer> paused_users_;         // those with paused peers: nobody else is looked at
  std::optional<u64> listens_again_ns_;  // no descriptor is left, not even to refuse somebody
  std::vector<u8> buffer_;
  PeerId next_ = 1;
};

}  // namespace gp::daemon
