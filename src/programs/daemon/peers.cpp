#include "daemon/peers.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"

namespace gp::daemon {
namespace {

// Text costs the daemon much more than a client that asks for it.
double cost_of(const std::optional<wire::Header>& header) {
  using wire::Kind;
  const bool is_text = header && (header->kind == Kind::status || header->kind == Kind::trace);
  return is_text ? 20 : 1;
}

}  // namespace

Peers::Peers(Loop& loop, const config::Limits& limits, OnMessage on_message, OnClosed on_closed)
    : loop_(loop),
      limits_(limits),
      on_message_(std::move(on_message)),
      on_closed_(std::move(on_closed)),
      spare_(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
      buffer_(wire::kMaxMessage) {}

Result<std::unique_ptr<Peers>> Peers::create(Loop& loop, const std::string& path, mode_t mode,
                                             const config::Limits& limits, OnMessage on_message,
                                             OnClosed on_closed) {
  std::unique_ptr<Peers> peers(
      new Peers(loop, limits, std::move(on_message), std::move(on_closed)));
  peers->listener_ = TRY(listen_on(path));
  if (::chmod(path.c_str(), mode) != 0) {
    return Error{errno, "set the mode of " + path, ""};
  }
  ::fcntl(peers->listener_.get(), F_SETFL, O_NONBLOCK);
  Peers* self = peers.get();
  peers->listener_token_ =
      TRY(loop.add(peers->listener_.get(), EPOLLIN, [self](u32) { self->accept_one(); }));
  return peers;
}

Peers::~Peers() {
  for (const auto& [id, peer] : peers_) {
    loop_.remove(peer->token);
  }
  loop_.remove(listener_token_);
}

bool Peers::may_connect(uid_t uid) const {
  const auto of_user = std::count_if(peers_.begin(), peers_.end(), [uid](const auto& entry) {
    return entry.second->who.uid == uid;
  });
  return peers_.size() < limits_.connections &&
         static_cast<std::size_t>(of_user) < limits_.connections_per_user;
}

void Peers::accept_one() {
  auto socket = accept_from(listener_.get());
  if (!socket) {
    if (socket.error().code == EMFILE || socket.error().code == ENFILE) {
      // Without this the connection would stay there and wake us for ever.
      spare_.reset();
      const auto refused = accept_from(listener_.get());
      spare_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    }
    return;
  }
  auto who = identify_peer(socket->get());
  if (!who || who->pid <= 0 || !may_connect(who->uid)) {
    return;  // closed: it may try again
  }
  ::fcntl(socket->get(), F_SETFL, O_NONBLOCK);
  auto peer = std::make_unique<Peer>();
  peer->id = next_++;
  peer->socket = std::move(*socket);
  peer->who = std::move(*who);
  const PeerId id = peer->id;
  auto token =
      loop_.add(peer->socket.get(), EPOLLIN, [this, id](u32 events) { on_event(id, events); });
  if (token) {
    peer->token = *token;
    peers_[id] = std::move(peer);
  }
}

Peer* Peers::find(PeerId id) {
  const auto found = peers_.find(id);
  return found == peers_.end() ? nullptr : found->second.get();
}

void Peers::close(PeerId id) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) {
    return;
  }
  loop_.remove(found->second->token);
  const std::unique_ptr<Peer> peer = std::move(found->second);
  peers_.erase(found);
  on_closed_(id);
}

void Peers::on_event(PeerId id, u32 events) {
  if (Peer* peer = find(id); peer != nullptr && (events & EPOLLOUT) && !flush(*peer)) {
    close(id);
    return;
  }
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
    read_from(id);
  }
}

void Peers::read_from(PeerId id) {
  for (int i = 0; i < kMessagesPerTurn; ++i) {
    Peer* peer = find(id);
    if (peer == nullptr) {
      return;
    }
    auto received = receive_message(peer->socket.get(), buffer_);
    if (!received && received.error().code == EAGAIN) {
      return;
    }
    if (!received || received->size == 0) {
      close(id);
      return;
    }
    const u64 now = monotonic_ns();
    const double rate = limits_.messages_per_second;
    const std::span<const u8> message(buffer_.data(), received->size);
    const auto header = wire::header_of(message);
    const bool too_many = peer->messages.next_ns(now, rate, 2 * rate) > now;
    peer->messages.take(now, rate, 2 * rate, cost_of(header));
    if (too_many || received->truncated || !header ||
        !on_message_(*peer, *header, message, std::move(received->files))) {
      if (const auto version = wire::other_version_of_hello(message); version && !too_many) {
        on_other_version_(*peer, *version);
      }
      log_debug("process {} (uid {}) is cut off: {}", peer->who.pid, peer->who.uid,
                too_many ? "too many messages" : "not a message of this version");
      close(id);
      return;
    }
  }
}

bool Peers::flush(Peer& peer) {
  while (!peer.outbox.empty()) {
    const std::vector<u8>& message = peer.outbox.front();
    const auto sent = send_message(peer.socket.get(), message);
    if (!sent) {
      return sent.error().code == EAGAIN;
    }
    peer.outbox_bytes -= message.size();
    peer.outbox.pop_front();
  }
  loop_.change(peer.token, EPOLLIN);
  return true;
}

void Peers::send(PeerId id, std::span<const u8> message) {
  Peer* peer = find(id);
  if (peer == nullptr) {
    return;
  }
  if (peer->outbox.empty()) {
    const auto sent = send_message(peer->socket.get(), message);
    if (sent) {
      return;
    }
    if (sent.error().code != EAGAIN) {
      // Closed from the loop: the caller may be in the middle of something about this peer.
      loop_.post([this, id] { close(id); });
      return;
    }
    loop_.change(peer->token, EPOLLIN | EPOLLOUT);
  }
  peer->outbox.emplace_back(message.begin(), message.end());
  peer->outbox_bytes += message.size();
  if (peer->outbox_bytes > kMostUnread) {
    log_debug("process {} does not read its answers: it is cut off", peer->who.pid);
    loop_.post([this, id] { close(id); });
  }
}

void Peers::send_text(PeerId id, std::string_view text, u32 sequence) {
  for (const auto& message : wire::text_messages(text, sequence)) {
    send(id, message);
  }
}

void Peers::send_part(PeerId id, std::string_view full_part, u32 sequence) {
  send(id, wire::text_message(full_part, sequence));
}

void Peers::send_result(PeerId id, u32 sequence, int error, std::string_view text) {
  wire::ResultMessage result;
  result.header.sequence = sequence;
  result.error = -error;
  wire::set_text(result.text, text);
  send(id, wire::bytes_of(result));
}

}  // namespace gp::daemon
