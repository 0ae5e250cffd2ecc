// The parts of gpreemptd that messages reach, without its sockets and without a GPU: a fuzzer is
// the peer. Orders of the engine are answered by the daemon's side of the fuzzer, some with errors.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <string>

#include "base/log.h"
#include "daemon/agents.h"
#include "daemon/clients.h"
#include "require.h"

namespace fuzz {

using namespace gp;
using namespace gp::daemon;

template <class T>
T must(Result<T> result) {
  require(static_cast<bool>(result), "the daemon's parts cannot be made");
  return std::move(*result);
}

class DaemonParts : public sched::Effects {
 public:
  DaemonParts() {
    set_log_level(LogLevel::error);
    const std::string socket = "/tmp/gpreempt-fuzz-" + std::to_string(::getpid());
    peers_ = must(Peers::create(
        *loop_, socket, {}, {},
        [](Peer&, const wire::Header&, std::span<const u8>) { return true; }, [](PeerId) {}));
    ::unlink(socket.c_str());
    outside_ = must(Outside::create(
        *loop_, [](sched::ProcessId, const sched::Answer&) {}, [](sched::ProcessId) {}));
    agents_.set_peers(*peers_);
    agents_.set_outside(*outside_);
    agents_.set_gpus({kGpu});
    clients_.set_peers(*peers_);
    clients_.set_driver(driver_);
  }

  // A peer comes, says this, and goes.
  void converse(std::span<const std::vector<u8>> messages) {
    Peer peer;
    peer.id = next_++;
    peer.who.pid = ::getpid();
    peer.who.uid = ::getuid();
    peer.who.gid = ::getgid();
    peer.who.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
    for (const std::vector<u8>& message : messages) {
      const auto header = wire::header_of(message);
      if (const auto version = wire::other_version_of_hello(message)) {
        agents_.on_other_version(peer, *version);
      }
      const bool from_client = header && header->kind >= wire::Kind::status;
      const bool stays = header && (from_client ? clients_.on_message(peer, *header, message)
                                                : agents_.on_message(peer, *header, message));
      settle();
      if (!stays) {
        break;
      }
    }
    agents_.on_closed(peer.id);
    clients_.on_closed(peer.id);
    settle();
    require(!engine_.earliest_deadline_ns(), "somebody stays stopped for one who has gone");
  }

  void carry_out(const sched::Order& order) override {
    if (order.verb != sched::Verb::extend) {
      orders_.push_back(order);
    }
    if (is_inside(order.mechanism)) {
      agents_.carry_out(order);
    }
  }
  std::optional<sched::Activity> activity(sched::ProcessId process) override {
    return agents_.activity(process);
  }
  void runs_again(sched::ProcessId process) override { agents_.on_runs_again(process); }

 private:
  static constexpr u32 kGpu = 1;

  // Every third order that can fail does.
  void settle() {
    engine_.settle(monotonic_ns());
    for (int turns = 0; !orders_.empty() && turns < 8; ++turns) {
      for (const sched::Order& order : std::exchange(orders_, {})) {
        sched::Answer answer;
        answer.sequence = order.sequence;
        answer.error = order.verb == sched::Verb::stop && ++stops_ % 3 == 0 ? EIO : 0;
        engine_.answered(monotonic_ns(), order.process, answer);
      }
      engine_.settle(monotonic_ns());
    }
    clients_.settle();
    loop_->post([] {});
    require(static_cast<bool>(loop_->run_once()), "the loop");
  }

  config::Config config_;
  DriverView driver_;
  std::unique_ptr<Loop> loop_ = must(Loop::create());
  sched::Engine engine_{*this, config_.settings};
  Processes processes_{*loop_, engine_, config_};
  std::unique_ptr<Peers> peers_;
  std::unique_ptr<Outside> outside_;
  Agents agents_{*loop_, engine_, processes_, config_};
  Clients clients_{*loop_, engine_, processes_};
  std::vector<sched::Order> orders_;
  PeerId next_ = 1;
  u32 stops_ = 0;
};

// A message whose header is right but for what the fuzzer may choose: so most get past it.
inline void complete(std::vector<u8>& message, wire::Kind from, wire::Kind to) {
  wire::Header header;
  if (message.size() < sizeof header) {
    return;
  }
  std::memcpy(&header, message.data(), sizeof header);
  header.magic = wire::kMagic;
  header.version = wire::kVersion;
  header.size = static_cast<u32>(message.size());
  const auto first = static_cast<u32>(from), last = static_cast<u32>(to);
  const auto kind = static_cast<u32>(header.kind);
  header.kind = static_cast<wire::Kind>(first + kind % (last - first + 1));
  std::memcpy(message.data(), &header, sizeof header);
}

}  // namespace fuzz
