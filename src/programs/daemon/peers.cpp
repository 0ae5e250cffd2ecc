#include "daemon/peers.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/log.h"

namespace gp::daemon {
namespace {

// Text costs the daemon much more than a client that asks for it.
double cost_of(const std::optional<wire::Header>& header) {
  using wire::Kind;
  const bool is_text = header && (header->kind == Kind::status || header->kind == Kind::trace);
  return is_text ? 20 : 1;
}

u32 events_of(const Peer& peer) {
  u32 events = 0;
  if (!peer.paused) {
    events |= EPOLLIN;
  }
  if (!peer.outbox.empty()) {
    events |= EPOLLOUT;
  }
  return events;
}

}  // namespace

Status set_access(const std::string& path, const config::SocketAccess& access) {
  if (access.group && ::chown(path.c_str(), static_cast<uid_t>(-1), *access.group) != 0) {
    return Error{errno, "set the group of " + path, "see socket_group in gpreemptd(8)"};
  }
  if (::chmod(path.c_str(), access.mode) != 0) {
    return Error{errno, "set the mode of " + path, ""};
  }
  return ok();
}

Peers::Peers(Loop& loop, const config::Limits& limits, OnMessage on_message, OnClosed on_closed)
    : loop_(loop),
      limits_(limits),
      on_message_(std::move(on_message)),
      on_closed_(std::move(on_closed)),
      spare_(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
      buffer_(wire::kMaxMessage) {}

Result<std::unique_ptr<Peers>> Peers::create(Loop& loop, const std::string& path,
                                             const config::SocketAccess& access,
                                             const config::Limits& limits, OnMessage on_message,
                                             OnClosed on_closed, FilesRefused files) {
  std::unique_ptr<Peers> peers(
      new Peers(loop, limits, std::move(on_message), std::move(on_closed)));
  if (files == FilesRefused::by_hand) {
    peers->closer_ = std::make_unique<Closer>();
  }
  TRY(peers->listen(path, access));
  return peers;
}

Status Peers::listen(const std::string& path, const config::SocketAccess& access) {
  // Made beside its place: whoever finds it there can connect.
  const std::string beside = path + ".new";
  ::unlink(beside.c_str());
  UniqueFd listener = TRY(listen_on(beside));
  if (!closer_ && !refuse_files(listener.get())) {
    closer_ = std::make_unique<Closer>();
  }
  ::fcntl(listener.get(), F_SETFL, O_NONBLOCK);
  TRY(set_access(beside, access));
  if (::lstat(beside.c_str(), &place_) != 0 || ::rename(beside.c_str(), path.c_str()) != 0) {
    return Error{errno, "rename " + beside, ""};
  }
  const Loop::Token token = TRY(loop_.add(
      listener.get(), EPOLLIN, [this](u32) { accept_one(); }, Loop::Manner::patient));
  loop_.remove(std::exchange(listener_token_, token));
  listener_ = std::move(listener);
  listens_again_ns_.reset();
  return ok();
}

bool Peers::listens_at(const std::string& path) const {
  struct stat there {};
  return ::lstat(path.c_str(), &there) == 0 && there.st_dev == place_.st_dev &&
         there.st_ino == place_.st_ino;
}

Peers::~Peers() {
  for (const auto& [id, peer] : peers_) {
    loop_.remove(peer->token);
    close_socket(std::move(peer->socket));
  }
  loop_.remove(listener_token_);
}

bool Peers::may_connect(const Payer& payer) {
  const bool is_ours = payer.container == 0 && (payer.uid == 0 || payer.uid == ::geteuid());
  const std::size_t kept =
      is_ours ? 0 : std::min<std::size_t>(kConnectionsKept, limits_.connections / 2);
  return peers_.size() + kept < limits_.connections &&
         accounts_[payer].connections < limits_.connections_per_user;
}

bool Peers::has_time(const Account& account, u64 now_ns) const {
  return account.time.next_ns(now_ns, kTimePerSecond, kTimeAtOnce) <= now_ns;
}

void Peers::charge(const Payer& payer, u64 from_ns) {
  const u64 now = monotonic_ns();
  const double milliseconds = static_cast<double>(now - from_ns) * 1e-6;
  accounts_[payer].time.take(now, kTimePerSecond, kTimeAtOnce, milliseconds);
}

// Without this the connection would stay there and wake us for ever.
void Peers::refuse_one() {
  spare_.reset();
  if (auto refused = accept_from(listener_.get())) {
    close_socket(std::move(*refused));
  }
  spare_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!spare_) {
    loop_.change(listener_token_, 0);
    listens_again_ns_ = monotonic_ns() + 100'000'000;
    log_warning("no descriptors are left: nobody can connect");
  }
}

void Peers::accept_one() {
  const u64 began = monotonic_ns();
  auto socket = accept_from(listener_.get());
  if (!socket) {
    if (socket.error().code == EMFILE || socket.error().code == ENFILE) {
      refuse_one();
    }
    return;
  }
  forget_old_accounts(began);
  auto who = identify_peer(socket->get());
  const Payer payer = who && who->pid > 0 ? payer_of(*who) : Payer();
  if (!who || who->pid <= 0 || !may_connect(payer)) {
    close_socket(std::move(*socket));  // it may try again
    return;
  }
  ::fcntl(socket->get(), F_SETFL, O_NONBLOCK);
  auto peer = std::make_unique<Peer>();
  peer->id = next_++;
  peer->socket = std::move(*socket);
  peer->who = std::move(*who);
  peer->payer = payer;
  const PeerId id = peer->id;
  auto token = loop_.add(
      peer->socket.get(), EPOLLIN, [this, id](u32 events) { on_event(id, events); },
      Loop::Manner::patient);
  if (token) {
    peer->token = *token;
    ++account_of(*peer).connections;
    peers_[id] = std::move(peer);
  }
  charge(payer, began);
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
  forget(*peer);
  close_socket(std::move(peer->socket));
  on_closed_(id);
}

void Peers::close_socket(UniqueFd socket) {
  if (closer_) {
    closer_->close(std::move(socket));
  }
}

// An account without connections is kept until its time has come back: to connect anew is no way to
// get more.
void Peers::forget(const Peer& peer) {
  Account& account = account_of(peer);
  --account.connections;
  account.unread_bytes -= peer.outbox_bytes;
  std::erase(account.paused, peer.id);
}

// A user namespace has thousands of users, each of whom may come once.
void Peers::forget_old_accounts(u64 now_ns) {
  constexpr std::size_t kMany = 1024;
  if (accounts_.size() > kMany) {
    std::erase_if(accounts_, [&](const auto& entry) {
      return entry.second.connections == 0 && !paused_users_.contains(entry.first) &&
             has_time(entry.second, now_ns);
    });
  }
}

void Peers::pause(Peer& peer) {
  if (!peer.paused) {
    peer.paused = true;
    account_of(peer).paused.push_back(peer.id);
    paused_users_.insert(peer.payer);
    loop_.change(peer.token, events_of(peer));
  }
}

std::optional<u64> Peers::resume(u64 now_ns) {
  std::optional<u64> next;
  const auto sooner = [&](u64 at_ns) { next = std::min(next.value_or(at_ns), at_ns); };
  for (auto user = paused_users_.begin(); user != paused_users_.end();) {
    Account& account = accounts_.at(*user);
    for (int i = 0; i < kResumedAtOnce && !account.paused.empty() && has_time(account, now_ns);
         ++i) {
      Peer& peer = *peers_.at(account.paused.front());
      account.paused.pop_front();
      peer.paused = false;
      loop_.change(peer.token, events_of(peer));
    }
    if (account.paused.empty()) {
      user = paused_users_.erase(user);
      continue;
    }
    sooner(std::max(account.time.next_ns(now_ns, kTimePerSecond, kTimeAtOnce),
                    now_ns + Loop::kSliceNs));
    ++user;
  }
  if (listens_again_ns_ && now_ns >= *listens_again_ns_) {
    listens_again_ns_.reset();
    loop_.change(listener_token_, EPOLLIN);
  }
  if (listens_again_ns_) {
    sooner(*listens_again_ns_);
  }
  return next;
}

void Peers::on_event(PeerId id, u32 events) {
  Peer* peer = find(id);
  if (peer == nullptr) {
    return;
  }
  const u64 began = monotonic_ns();
  const Payer payer = peer->payer;
  if ((events & EPOLLOUT) && !flush(*peer)) {
    close(id);
  } else if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
    if (has_time(account_of(*peer), began)) {
      read_from(id);
    } else if (events & (EPOLLHUP | EPOLLERR)) {
      close(id);  // it has gone, and what it has left to say is not waited for
    } else {
      pause(*peer);
    }
  }
  charge(payer, began);
}

void Peers::read_from(PeerId id) {
  const u64 end_ns = monotonic_ns() + Loop::kSliceNs;
  for (int i = 0; i < kMessagesPerTurn; ++i) {
    Peer* peer = find(id);
    if (peer == nullptr || (i > 0 && monotonic_ns() >= end_ns)) {
      return;
    }
    const auto received = receive_without_files(peer->socket.get(), buffer_, closer_ != nullptr);
    if (!received && received.error().code == EAGAIN) {
      return;
    }
    if (!received || received->size == 0 || !take_message(*peer, *received)) {
      close(id);
      return;
    }
  }
}

bool Peers::take_message(Peer& peer, const Received& received) {
  const u64 now = monotonic_ns();
  const double rate = limits_.messages_per_second;
  const std::span<const u8> message(buffer_.data(), received.size);
  const auto header = wire::header_of(message);
  const bool too_many = peer.messages.next_ns(now, rate, 2 * rate) > now;
  peer.messages.take(now, rate, 2 * rate, cost_of(header));
  if (!too_many && !received.truncated && header && on_message_(peer, *header, message)) {
    return true;
  }
  if (const auto version = wire::other_version_of_hello(message); version && !too_many) {
    on_other_version_(peer, *version);
  }
  log_debug("process {} (uid {}) is cut off: {}", peer.who.pid, peer.who.uid,
            too_many ? "too many messages" : "not a message of this version");
  return false;
}

bool Peers::flush(Peer& peer) {
  while (!peer.outbox.empty()) {
    const std::vector<u8>& message = peer.outbox.front();
    const auto sent = send_message(peer.socket.get(), message);
    if (!sent) {
      return sent.error().code == EAGAIN;
    }
    peer.outbox_bytes -= message.size();
    account_of(peer).unread_bytes -= message.size();
    peer.outbox.pop_front();
  }
  loop_.change(peer.token, events_of(peer));
  return true;
}

void Peers::send(PeerId id, std::span<const u8> message, std::span<const int> files) {
  Peer* peer = find(id);
  if (peer == nullptr) {
    return;
  }
  if (peer->outbox.empty()) {
    const auto sent = send_message(peer->socket.get(), message, {}, files);
    if (sent) {
      return;
    }
    if (sent.error().code != EAGAIN || !files.empty()) {
      // Closed from the loop: the caller may be in the middle of something about this peer.
      loop_.post([this, id] { close(id); });
      return;
    }
    peer->outbox.emplace_back(message.begin(), message.end());
    loop_.change(peer->token, events_of(*peer));
  } else {
    peer->outbox.emplace_back(message.begin(), message.end());
  }
  peer->outbox_bytes += message.size();
  Account& account = account_of(*peer);
  account.unread_bytes += message.size();
  if (peer->outbox_bytes > kMostUnread || account.unread_bytes > kMostUnreadOfUser) {
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
