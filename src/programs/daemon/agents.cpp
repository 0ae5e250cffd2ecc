#include "daemon/agents.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "base/text_table.h"

namespace gp::daemon {

using sched::ProcessId;
using wire::Kind;

namespace {

constexpr std::size_t kMostQueues = wire::kMaxQueuesPerMessage;
// A page changes its state a few thousand times a second at most; what wakes us more often than
// this is looked at ten times a second only.
constexpr double kWakesPerSecond = 20'000;
constexpr u64 kMutedNs = 100'000'000;

// Of a Hello or a Refused.
template <class Message>
ToldFacts told_by(const Message& hello) {
  ToldFacts facts;
  facts.work_class = wire::class_of(hello.work_class);
  if (hello.priority <= 15) {
    facts.priority = hello.priority;
  }
  facts.tag = printable(std::string(wire::text_of(hello.tag)));
  facts.job = printable(std::string(wire::text_of(hello.job)));
  return facts;
}

}  // namespace

Agents::~Agents() {
  processes_.set_on_change([](ProcessId) {});
  for (const auto& [id, agent] : agents_) {
    loop_.remove(agent.wake_token);
  }
}

bool Agents::on_message(Peer& peer, const wire::Header& header, std::span<const u8> message) {
  if (header.kind == Kind::hello) {
    return on_hello(peer, message);
  }
  const auto found = agents_.find(peer.id);
  if (header.kind == Kind::refused) {
    return found == agents_.end() && on_refused(peer, message);
  }
  if (found == agents_.end()) {
    return false;
  }
  if (header.kind == Kind::done) {
    return on_done(found->second, message);
  }
  return on_queue(found->second, header, message);
}

bool Agents::on_hello(Peer& peer, std::span<const u8> message) {
  const auto hello = wire::decode<wire::Hello>(message);
  if (!hello || hello->part >= kParts || agents_.contains(peer.id) || expected_.contains(peer.id)) {
    return false;
  }
  const auto id = processes_.join(peer.who, Processes::Look::again);
  const sched::Process* process = id ? engine_.find(*id) : nullptr;
  if (process == nullptr || (!process->prepared && process->prepare_sequence == 0)) {
    return admit(peer, *hello);
  }
  // A process has one debugger, which the agent is to be: we let go of it before we welcome it.
  expected_[peer.id] = *hello;
  let_go_for(peer.id, process->facts.key);
  return true;
}

bool Agents::on_refused(const Peer& peer, std::span<const u8> message) {
  const auto refused = wire::decode<wire::Refused>(message);
  if (!refused) {
    return false;
  }
  const auto id = processes_.join(peer.who);
  if (!id || by_process_.contains(*id)) {
    return false;
  }
  note_refusal(peer, *id, told_by(*refused), std::string(wire::text_of(refused->reason)));
  return true;
}

// Left over in a program from before an update, or newer than we are.
void Agents::on_other_version(const Peer& peer, u16 version) {
  refuse(peer,
         fmt::format("it speaks version {} of the messages and gpreemptd version {}: start the "
                     "program again with an agent of the same release",
                     version, wire::kVersion));
}

void Agents::refuse(const Peer& peer, std::string reason) {
  const auto id = processes_.join(peer.who);
  if (id && !by_process_.contains(*id)) {
    note_refusal(peer, *id, *processes_.what_was_told(*id), std::move(reason));
  }
}

// Logged once for a process, however often it says so.
void Agents::note_refusal(const Peer& peer, ProcessId id, ToldFacts facts, std::string reason) {
  facts.agent_refusal = reason.empty() ? "it does not say why" : printable(std::move(reason));
  if (processes_.what_was_told(id)->agent_refusal.empty() && processes_.may_log(id)) {
    log_warning("process {}: agent refused: {}", peer.who.pid, facts.agent_refusal);
  }
  processes_.told(id, facts);
}

void Agents::let_go_for(PeerId id, const ProcessKey& key) {
  outside_->let_go(key, [this, id] {
    const Peer* peer = peers_->find(id);
    const sched::Process* process = peer != nullptr ? engine_.find_pid(peer->who.pid) : nullptr;
    if (process == nullptr || process->phase == sched::Phase::running) {
      admit_expected(id);
    }  // else it is held, and let go of when it runs again
  });
}

// In the middle of the engine's work: what follows comes later.
void Agents::on_runs_again(ProcessId process) {
  const ProcessKey* key = processes_.key_of(process);
  for (const auto& [id, hello] : expected_) {
    const Peer* peer = peers_->find(id);
    if (key != nullptr && peer != nullptr && peer->who.pid == key->pid) {
      let_go_for(id, *key);
    }
  }
}

void Agents::admit_expected(PeerId id) {
  auto expected = expected_.extract(id);
  Peer* peer = peers_->find(id);
  if (peer != nullptr && !expected.empty() && !admit(*peer, expected.mapped())) {
    peers_->close(id);
  }
}

bool Agents::admit(Peer& peer, const wire::Hello& hello) {
  auto page = PageMapping::create(peer.who.pid);
  if (!page) {
    refuse(peer, page.error().message());
    return false;
  }
  const auto part = static_cast<Part>(hello.part);
  const auto whole = processes_.join(peer.who);
  if (!whole || (part != Part::rest && !by_process_.contains(*whole))) {
    return false;  // it has ended, or nobody could stop what is not of this part
  }
  const auto id = processes_.join_part(peer.who, part);
  if (!id || by_process_.contains(*id)) {
    return false;  // it has an agent already, or may have no parts
  }
  Agent& agent = agents_[peer.id];
  agent.peer = peer.id;
  agent.process = *id;
  agent.part = part;
  agent.abilities = MechanismSet::of_bits(hello.abilities);
  agent.page = std::move(*page);
  // Edge-triggered and never read: each write of the agent is one event, without a system call of
  // ours to take it.
  auto token =
      loop_.add(agent.page->wake(), EPOLLIN | EPOLLET, [this, &agent](u32) { on_wake(agent); });
  if (!token) {
    agents_.erase(peer.id);
    processes_.leave_part(*id);
    return false;
  }
  agent.wake_token = *token;
  by_process_[*id] = &agent;
  if (part == Part::rest) {
    processes_.told(*id, told_by(hello));
  }
  welcome(agent);
  engine_.agent_joined(monotonic_ns(), *id, agent.abilities);
  if (discovery_ != nullptr && part == Part::rest) {
    discovery_->covered(*processes_.key_of(*id), true);
  }
  log_debug("agent of process {} has joined{}", peer.who.pid,
            part == Part::rest ? "" : fmt::format(" for its {} queues", name(*class_of(part))));
  return true;
}

void Agents::welcome(Agent& agent) {
  const sched::Job* job = engine_.find_job(agent.process);
  if (job == nullptr) {
    return;
  }
  wire::Welcome message;
  message.work_class = wire::code_of(job->work_class);
  message.watch_completion = job->work_class == WorkClass::online ||
                             config_.settings.policy->watches_all || config_.settings.make_room;
  message.lease_ns = config_.settings.lease_ns;
  const auto mechanism = engine_.expected_mechanism(agent.process, agent.abilities);
  if (mechanism && is_inside(*mechanism)) {
    message.mechanism = static_cast<u32>(*mechanism);
    message.prompt = config_.real_time;
  }
  const bool same = message.mechanism == agent.welcome.mechanism &&
                    message.work_class == agent.welcome.work_class &&
                    message.watch_completion == agent.welcome.watch_completion &&
                    message.prompt == agent.welcome.prompt &&
                    message.lease_ns == agent.welcome.lease_ns;
  if (!same) {
    agent.welcome = message;
    const int files[] = {agent.page->memfd(), agent.page->wake()};
    const std::span<const int> to_send = agent.has_page ? std::span<const int>() : files;
    agent.has_page = true;
    peers_->send(agent.peer, wire::bytes_of(message), to_send);
  }
}

void Agents::on_change(ProcessId id) {
  const Agent* agent = agent_of(id);
  if (agent != nullptr && engine_.find(id) == nullptr) {
    dismiss(*agent);
  } else {
    welcome_job_of(id);
  }
}

// Later: its message may be what we are at.
void Agents::dismiss(const Agent& agent) {
  loop_.post([this, peer = agent.peer] { peers_->close(peer); });
}

void Agents::dismiss_parts_of(ProcessId whole) {
  for (const ProcessId id : processes_.with_parts(whole)) {
    const Agent* agent = agent_of(id);
    if (agent != nullptr && agent->part != Part::rest) {
      dismiss(*agent);
    }
  }
}

// The class of a job is that of all its processes.
void Agents::welcome_job_of(ProcessId id) {
  const sched::Job* job = engine_.find_job(id);
  if (job == nullptr) {
    return;
  }
  for (const sched::Process* process : job->processes) {
    if (Agent* agent = agent_of(process->id)) {
      if (processes_.takes_parts_again(process->id)) {
        agent->welcome = {};  // it asks for them after each welcome
      }
      welcome(*agent);
    }
  }
}

void Agents::refresh_welcomes() {
  for (auto& [id, agent] : agents_) {
    welcome(agent);
  }
}

bool Agents::on_queue(Agent& agent, const wire::Header& header, std::span<const u8> message) {
  if (header.kind == Kind::queue_created) {
    const auto created = wire::decode<wire::QueueCreated>(message);
    if (!created || agent.queues.size() >= kMostQueues) {
      return false;
    }
    // A GPU that is not there is no place: whoever invents one may be anywhere.
    const bool is_known = gpu_ids_.empty() || gpu_ids_.contains(created->gpu_id);
    agent.queues[created->ring_base] = is_known ? created->gpu_id : 0;
    tell_queues(agent, true);
    return true;
  }
  if (header.kind == Kind::queue_destroyed) {
    const auto destroyed = wire::decode<wire::QueueDestroyed>(message);
    if (!destroyed) {
      return false;
    }
    agent.queues.erase(destroyed->ring_base);
    tell_queues(agent, false);
    return true;
  }
  return false;
}

void Agents::tell_queues(Agent& agent, bool appeared) {
  sched::QueueCounts counts;
  for (const auto& [ring, gpu_id] : agent.queues) {
    if (gpu_id != 0) {
      ++counts[gpu_id];
      continue;
    }
    for (const u32 each : gpu_ids_) {  // the agent does not know where: it may be anywhere
      ++counts[each];
    }
  }
  engine_.set_queues(monotonic_ns(), agent.process, sched::QueueSource::agent, counts, appeared);
}

bool Agents::on_done(Agent& agent, std::span<const u8> message) {
  const auto done = wire::decode<wire::Done>(message);
  if (!done || done->error > 0 || done->error < -4095) {
    return false;
  }
  sched::Answer answer;
  answer.sequence = done->header.sequence;
  answer.error = -done->error;
  answer.reason = done->error == 0 ? "" : std::strerror(-done->error);
  answer.driver_enter_ns = done->driver_enter_ns;
  answer.driver_leave_ns = done->driver_leave_ns;
  engine_.answered(monotonic_ns(), agent.process, answer);
  return true;
}

void Agents::on_wake(Agent& agent) {
  engine_.woken(agent.process);
  const u64 now = monotonic_ns();
  if (agent.wakes.next_ns(now, kWakesPerSecond, kWakesPerSecond) > now) {
    loop_.change(agent.wake_token, 0);
    muted_.push_back({agent.peer, now + kMutedNs});
  } else {
    agent.wakes.take(now, kWakesPerSecond, kWakesPerSecond);
  }
}

std::optional<u64> Agents::unmute(u64 now_ns) {
  std::optional<u64> next;
  std::erase_if(muted_, [&](const Muted& muted) {
    if (now_ns < muted.until_ns) {
      next = std::min(next.value_or(muted.until_ns), muted.until_ns);
      return false;
    }
    const Agent& agent = agents_.at(muted.peer);
    loop_.change(agent.wake_token, EPOLLIN | EPOLLET);
    engine_.woken(agent.process);
    return true;
  });
  return next;
}

void Agents::on_closed(PeerId id) {
  expected_.erase(id);
  const auto found = agents_.find(id);
  if (found == agents_.end()) {
    return;
  }
  const ProcessId process = found->second.process;
  const Part part = found->second.part;
  loop_.remove(found->second.wake_token);
  agents_.erase(found);
  by_process_.erase(process);
  std::erase_if(muted_, [id](const Muted& muted) { return muted.peer == id; });
  const auto* key = processes_.key_of(process);
  if (key != nullptr && discovery_ != nullptr && part == Part::rest) {
    discovery_->covered(*key, false);
  }
  if (part == Part::rest) {
    engine_.agent_left(monotonic_ns(), process);
    dismiss_parts_of(process);
  } else {
    processes_.leave_part(process);  // nobody else could stop it
  }
}

Agents::Agent* Agents::agent_of(ProcessId id) const {
  const auto found = by_process_.find(id);
  return found == by_process_.end() ? nullptr : found->second;
}

std::optional<sched::Activity> Agents::activity(ProcessId id) const {
  const Agent* agent = agent_of(id);
  return agent == nullptr ? std::nullopt : std::optional(agent->page->activity());
}

void Agents::carry_out(const sched::Order& order) {
  Agent* agent = agent_of(order.process);
  if (agent == nullptr) {
    return;
  }
  // The deadline is there before the stop: whatever happens next, the stop ends.
  agent->page->set_deadline(order.verb == sched::Verb::start ? 0 : order.deadline_ns);
  if (order.verb == sched::Verb::extend) {
    return;
  }
  const bool stop = order.verb == sched::Verb::stop;
  wire::Command command;
  command.header.kind = stop ? Kind::stop : Kind::start;
  command.header.sequence = order.sequence;
  command.mechanism = order.mechanism;
  command.deadline_ns = order.deadline_ns;
  peers_->send(agent->peer, wire::bytes_of(command));
}

}  // namespace gp::daemon
