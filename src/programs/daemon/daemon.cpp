#include "daemon/daemon.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "daemon/notify.h"
#include "daemon/scheduling.h"
#include "libc/eventfd.h"

namespace gp::daemon {

using sched::Order;
using sched::ProcessId;
using sched::Verb;

namespace {
constexpr u64 kPatienceNs = 3'000'000'000;  // at the end: leases end what has not started by then
}

Daemon::Daemon(std::string config_path, config::Config config, RuntimeDirectory directory,
               Ward ward)
    : config_path_(std::move(config_path)),
      config_(std::move(config)),
      directory_(std::move(directory)),
      ward_(std::move(ward)),
      engine_(*this, config_.settings),
      watchdog_interval_ns_(watchdog_interval_ns()) {}

Result<std::unique_ptr<Daemon>> Daemon::create(const std::string& config_path,
                                               config::Config config, RuntimeDirectory directory,
                                               Ward ward) {
  std::unique_ptr<Daemon> daemon(
      new Daemon(config_path, std::move(config), std::move(directory), std::move(ward)));
  Daemon* self = daemon.get();
  daemon->loop_ = TRY(Loop::create());
  self->engine_.configure(monotonic_ns(), self->settings_here());
  TRY(self->watch_signals());
  TRY(self->watch_guardian());
  daemon->processes_ = std::make_unique<Processes>(*self->loop_, self->engine_, self->config_);
  daemon->agents_ =
      std::make_unique<Agents>(*self->loop_, self->engine_, *self->processes_, self->config_);
  daemon->clients_ = std::make_unique<Clients>(*self->loop_, self->engine_, *self->processes_);
  daemon->clients_->set_driver(self->driver_);
  daemon->outside_ = TRY(Outside::create(
      *self->loop_,
      [self](ProcessId process, const sched::Answer& answer) { self->on_answer(process, answer); },
      [self](ProcessId process) { self->engine_.lease_ended(monotonic_ns(), process); }));
  daemon->agents_->set_outside(*self->outside_);
  daemon->rings_ = std::make_unique<RingWatch>(
      *self->loop_, RingWatch::Handlers{[self](ProcessId process) { self->engine_.woken(process); },
                                        [self](ProcessId process, const std::string& why) {
                                          self->on_rings_lost(process, why);
                                        }});
  return daemon;
}

// Asked once: the driver cannot change while we have /dev/kfd open, and to have each process fail
// by `kernel` first would only delay what works.
sched::Settings Daemon::settings_here() {
  sched::Settings settings = config_.settings;
  const Status supported = mechanism::check_kernel_support();
  driver_.no_kernel = supported ? "" : supported.error().message();
  if (!supported && settings.mechanisms.has(Mechanism::kernel)) {
    settings.mechanisms.remove(Mechanism::kernel);
    log_info("without the mechanism kernel: {}", driver_.no_kernel);
  }
  return settings;
}

Status Daemon::watch_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    ::sigaddset(&signals, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  signals_.reset(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) {
    return Error{errno, "signalfd", ""};
  }
  TRY(loop_->add(signals_.get(), EPOLLIN, [this](u32) { on_signals(); }));
  return ok();
}

void Daemon::on_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo != SIGHUP) {
      ending_ = true;
      continue;
    }
    on_loss();  // of what was not noticed
    if (const Status reloaded = reload(); !reloaded) {
      log_error("the configuration stays as it was: {}", reloaded.error().message());
    }
  }
}

Status Daemon::watch_guardian() {
  TRY(loop_->add(ward_.lifetime.get(), EPOLLIN, [this](u32) {
    if (!ending_) {
      log_error("the guardian has gone: stopping in good order");
    }
    ending_ = true;
  }));
  return ok();
}

Status Daemon::recover() {
  JournalContent left;
  journal_ = TRY(Journal::open(directory_.journal, left));
  if (left.damaged != 0) {
    log_warning("{}: {} entries are damaged; what they named runs again by its lease",
                directory_.journal, left.damaged);
  }
  for (const JournalEntry& entry : left.entries) {
    // Agents have started theirs when the connection ended, and the kernel what was debugged when
    // the memory of the daemon before was gone, which it is: the directory's lock is ours. Only a
    // pause may have outlived everybody who knew of it.
    if (entry.mechanism == Mechanism::criu) {
      outside_->unpause_leftover(entry.process);
    } else {
      log_info("process {} was stopped by {} when the daemon before ended", entry.process.pid,
               info_of(entry.mechanism).name);
    }
  }
  return ok();
}

Status Daemon::open_socket() {
  peers_ = TRY(Peers::create(
      *loop_, directory_.socket, config_.socket_access, config_.limits,
      [this](Peer& peer, const wire::Header& header, std::span<const u8> message) {
        return on_message(peer, header, message);
      },
      [this](PeerId id) {
        agents_->on_closed(id);
        clients_->on_closed(id);
      }));
  peers_->set_on_other_version(
      [this](const Peer& peer, u16 version) { agents_->on_other_version(peer, version); });
  agents_->set_peers(*peers_);
  clients_->set_peers(*peers_);
  return ok();
}

Status Daemon::keep_place() {
  if (!is_at(directory_.lock, directory_.lock_file)) {
    directory_ = TRY(claim_directory(directory_.socket));
    log_warning("{} had gone, and is there again", directory_.lock);
  }
  if (!peers_->listens_at(directory_.socket)) {
    TRY(peers_->listen(directory_.socket, config_.socket_access));
    log_warning("{} had gone, and is there again", directory_.socket);
  }
  directory_watch_->follow();
  return ok();
}

void Daemon::on_loss() {
  if (const Status kept = keep_place(); !kept) {
    log_error("{}", kept.error().message());
    ending_ |= kept.error().code == EEXIST;
  }
}

bool Daemon::on_message(Peer& peer, const wire::Header& header, std::span<const u8> message) {
  const bool from_client = header.kind >= wire::Kind::status;
  return from_client ? clients_->on_message(peer, header, message)
                     : agents_->on_message(peer, header, message);
}

void Daemon::start_discovery() {
  if (!config_.watch_all_processes) {
    return;
  }
  auto discovery =
      Discovery::start(*loop_, config_.classes,
                       {[this](const std::vector<discover::Node>& nodes) { on_nodes(nodes); },
                        [this](const SeenProcess& process) {
                          processes_->seen(process);
                          reserver_.saw(process.process);
                          if (const auto id = processes_->find(process.process.key.pid)) {
                            rings_->queues_changed(*id);
                          }
                          agents_->refresh_welcomes();
                        }});
  if (!discovery) {
    log_warning("only processes with an agent are seen: {}", discovery.error().message());
    return;
  }
  discovery_ = std::move(*discovery);
  agents_->set_discovery(discovery_.get());
}

void Daemon::on_nodes(const std::vector<discover::Node>& nodes) {
  std::set<u32> gpu_ids;
  for (const discover::Node& node : nodes) {
    const std::string name = node.name.empty() ? discover::gfx_name(node) : node.name;
    engine_.set_node(node.gpu_id, {name, node.node_id, node.hqds});
    gpu_ids.insert(node.gpu_id);
  }
  gpu_ids_ = gpu_ids;
  agents_->set_gpus(std::move(gpu_ids));
  reserver_.reserve(config_, gpu_ids_, driver_);
}

void Daemon::on_answer(ProcessId process, const sched::Answer& answer) {
  engine_.answered(monotonic_ns(), process, answer);
}

void Daemon::carry_out(const Order& order) {
  const ProcessKey* key = processes_->key_of(order.process);
  if (key == nullptr) {
    return;  // it has just ended
  }
  const bool whole = engine_.find(order.process)->facts.part == Part::rest;
  if (order.verb == Verb::stop && order.mechanism != Mechanism::kernel && whole) {
    journal_->add({*key, order.mechanism});
  }
  if (is_inside(order.mechanism)) {
    agents_->carry_out(order);
  } else {
    outside_->carry_out(order, *key);
  }
}

std::optional<sched::Activity> Daemon::activity(ProcessId process) {
  const auto told = agents_->activity(process);
  return told ? told : rings_->activity(process);
}

// Only if somebody has come, gone or become something else: the way to a stop leads through here.
void Daemon::watch_rings() {
  if (rings_as_of_ == engine_.changes()) {
    return;
  }
  rings_as_of_ = engine_.changes();
  std::vector<RingWatch::Target> targets;
  if (config_.settings.read_rings && !ending_) {
    for (const ProcessId id : engine_.worth_watching()) {
      const ProcessKey* key = processes_->key_of(id);
      const auto payer = processes_->payer_of(id);
      if (key != nullptr && payer) {
        targets.push_back({id, *key, *payer});
      }
    }
  }
  rings_->watch(targets, {config_.read_rings_every_ns, config_.real_time});
}

void Daemon::on_rings_lost(ProcessId process, const std::string& why) {
  engine_.rings_lost(process, why);
  const ProcessKey* key = processes_->key_of(process);
  if (!why.empty() && key != nullptr && processes_->may_log(process)) {
    log_warning("process {}: its rings are not read: {}", key->pid, why);
  }
}

void Daemon::runs_again(ProcessId process) {
  const sched::Process* known = engine_.find(process);
  if (known != nullptr && known->facts.part == Part::rest) {
    journal_->remove(known->facts.key);
  }
  agents_->on_runs_again(process);
}

Status Daemon::reload() {
  config::Config config = TRY(config::load(config_path_));
  TRY(set_access(directory_.socket, config.socket_access));
  config_ = std::move(config);
  engine_.configure(monotonic_ns(), settings_here());
  reserver_.reserve(config_, gpu_ids_, driver_);
  peers_->set_limits(config_.limits);
  processes_->refresh();
  agents_->refresh_welcomes();
  if (discovery_) {
    discovery_->set_classes(config_.classes);
  }
  log_info("configuration: {}, policy {}", config_path_.empty() ? "defaults" : config_path_,
           config_.settings.policy->name);
  return ok();
}

// The guardian polls only while there is a deadline, and is told when one appears in its sleep.
void Daemon::update_board() {
  const u64 deadline = engine_.earliest_deadline_ns().value_or(0);
  if (deadline == board_deadline_ns_) {
    return;
  }
  ward_.board->deadline_ns.store(deadline);
  if (deadline != 0 && ward_.board->guardian_sleeps.load()) {
    signal_event(ward_.board_changed.get());
  }
  board_deadline_ns_ = deadline;
}

void Daemon::settle() {
  const u64 now = monotonic_ns();
  std::optional<u64> wake = agents_->unmute(now);
  for (const auto& at : {peers_->resume(now), processes_->log_unseen(now)}) {
    wake = at ? std::min(wake.value_or(*at), *at) : wake;
  }
  watch_rings();
  engine_.settle(now);
  if (clients_->settle()) {
    engine_.settle(now);
  }
  update_board();
  if (watchdog_interval_ns_ && now >= next_watchdog_ns_.value_or(0)) {
    notify_manager("WATCHDOG=1");
    next_watchdog_ns_ = now + *watchdog_interval_ns_;
  }
  for (const auto& at : {engine_.wake_ns(), next_watchdog_ns_}) {
    wake = at ? std::min(wake.value_or(*at), *at) : wake;
  }
  loop_->set_timer(wake);
}

Status Daemon::run() {
  TRY(open_socket());
  directory_watch_ =
      std::make_unique<DirectoryWatch>(*loop_, directory_.directory, [this] { on_loss(); });
  on_loss();  // of what has gone before it was watched
  start_discovery();
  notify_manager("READY=1");
  log_info("ready on {}, policy {}", directory_.socket, config_.settings.policy->name);
  limit_real_time();
  settle();
  leadership_.run([this](Leadership::Turn& turn) { serve(turn); });
  TRY(served_);
  close_down();
  return ok();
}

// A call of the driver takes as long as the hardware does. The thread that has decided makes it
// itself, for to wake another would take longer than all before it, and lets another lead
// meanwhile.
void Daemon::serve(Leadership::Turn& turn) {
  if (driver_.no_kernel.empty()) {
    turn.prepare();
  }
  while (!ending_ && served_) {
    schedule_this_thread(config_.real_time);  // a reload may have changed it
    served_ = loop_->run_once();
    settle();
    if (outside_->has_collected()) {
      const auto orders = outside_->take_collected();
      turn.pass_on([&] { outside_->carry_out_together(orders); });
    }
  }
}

void Daemon::close_down() {
  notify_manager("STOPPING=1");
  const u64 give_up = monotonic_ns() + kPatienceNs;
  const auto act = [this] { outside_->carry_out_together(outside_->take_collected()); };
  engine_.close(monotonic_ns());
  settle();
  act();
  while (!engine_.all_running() && monotonic_ns() < give_up) {
    loop_->set_timer(std::min(engine_.wake_ns().value_or(give_up), give_up));
    if (!loop_->run_once()) {
      break;
    }
    engine_.settle(monotonic_ns());
    act();
  }
  if (peers_->listens_at(directory_.socket)) {
    ::unlink(directory_.socket.c_str());
  }
  log_info("stopped{}", engine_.all_running() ? "" : "; leases will start the rest");
}

}  // namespace gp::daemon
