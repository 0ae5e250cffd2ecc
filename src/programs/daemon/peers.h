// The daemon's socket and everybody connected to it. A peer can disturb only itself: what it sends
// is bounded in size and rate, what it does not read is bounded, and so is the number of
// connections of one user. The kernel says who a peer is (SO_PEERCRED), not
// the peer.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/socket.h"
#include "client/frame.h"
#include "config/config.h"
#include "daemon/loop.h"
#include "sched/measures.h"

namespace gp::daemon {

using PeerId = u64;

struct Peer {
  PeerId id = 0;
  UniqueFd socket;
  PeerIdentity who;
  Loop::Token token = 0;
  sched::Allowance messages;
  std::deque<std::vector<u8>> outbox;
  std::size_t outbox_bytes = 0;
};

class Peers {
 public:
  // False: the message is not one, the peer is cut off.
  using OnMessage =
      std::function<bool(Peer&, const wire::Header&, std::span<const u8>, std::vector<UniqueFd>)>;
  using OnClosed = std::function<void(PeerId)>;
  // An agent that is about to be cut off because it speaks another version.
  using OnOtherVersion = std::function<void(const Peer&, u16 version)>;

  static Result<std::unique_ptr<Peers>> create(Loop& loop, const std::string& path, mode_t mode,
                                               const config::Limits& limits, OnMessage on_message,
                                               OnClosed on_closed);
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  ~Peers();

  void set_on_other_version(OnOtherVersion on_other_version) {
    on_other_version_ = std::move(on_other_version);
  }
  void set_limits(const config::Limits& limits) { limits_ = limits; }
  Peer* find(PeerId id);
  // Sends at once or, if the peer is slow, later. A peer that does not read is cut off.
  void send(PeerId id, std::span<const u8> message);
  void send_text(PeerId id, std::string_view text, u32 sequence);
  // As much of a text as a message takes; send_text() ends it.
  void send_part(PeerId id, std::string_view full_part, u32 sequence);
  void send_result(PeerId id, u32 sequence, int error, std::string_view text);
  void close(PeerId id);
  std::size_t count() const { return peers_.size(); }

 private:
  static constexpr std::size_t kMostUnread = 4 << 20;
  static constexpr int kMessagesPerTurn = 16;  // then it is somebody else's turn

  Peers(Loop& loop, const config::Limits& limits, OnMessage on_message, OnClosed on_closed);
  void accept_one();
  bool may_connect(uid_t uid) const;
  void on_event(PeerId id, u32 events);
  void read_from(PeerId id);
  bool flush(Peer& peer);

  Loop& loop_;
  config::Limits limits_;
  OnMessage on_message_;
  OnClosed on_closed_;
  OnOtherVersion on_other_version_ = [](const Peer&, u16) {};
  UniqueFd listener_;
  Loop::Token listener_token_ = 0;
  UniqueFd spare_;  // given up to refuse a connection when there are no descriptors left
  std::unordered_map<PeerId, std::unique_ptr<Peer>> peers_;
  std::vector<u8> buffer_;
  PeerId next_ = 1;
};

}  // namespace gp::daemon
