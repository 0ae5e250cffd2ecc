// The daemon: owns the loop, the engine and everything that feeds them. Handlers only note what has
// happened; after each batch of events settle() asks the engine once.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "config/config.h"
#include "daemon/agents.h"
#include "daemon/clients.h"
#include "daemon/directory_watch.h"
#include "daemon/discovery.h"
#include "daemon/guardian.h"
#include "daemon/journal.h"
#include "daemon/leadership.h"
#include "daemon/loop.h"
#include "daemon/outside.h"
#include "daemon/peers.h"
#include "daemon/processes.h"
#include "daemon/ring_watch.h"
#include "daemon/runtime_directory.h"
#include "daemon/slot_reserver.h"

namespace gp::daemon {

class Daemon final : public sched::Effects {
 public:
  static Result<std::unique_ptr<Daemon>> create(const std::string& config_path,
                                                config::Config config, RuntimeDirectory directory,
                                                Ward ward);
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon() override = default;

  // Starts what a predecessor left stopped.
  Status recover();
  // Serves until it is told to stop, then starts everything that is stopped.
  Status run();

  // ---- what the engine asks for ----
  void carry_out(const sched::Order& order) override;
  std::optional<sched::Activity> activity(sched::ProcessId process) override;
  void runs_again(sched::ProcessId process) override;

 private:
  Daemon(std::string config_path, config::Config config, RuntimeDirectory directory, Ward ward);
  Status watch_signals();
  Status watch_guardian();
  Status open_socket();
  // Makes again what has gone from the directory; EEXIST if another daemon has it now.
  Status keep_place();
  void on_loss();
  void start_discovery();
  void on_signals();
  void on_answer(sched::ProcessId process, const sched::Answer& answer);
  void on_nodes(const std::vector<discover::Node>& nodes);
  bool on_message(Peer& peer, const wire::Header& header, std::span<const u8> message);
  Status reload();
  // The configured settings, without what this driver cannot do.
  sched::Settings settings_here();
  void settle();
  void watch_rings();
  void on_rings_lost(sched::ProcessId process, const std::string& why);
  void serve(Leadership::Turn& turn);
  void update_board();
  void close_down();

  const std::string config_path_;
  config::Config config_;
  RuntimeDirectory directory_;
  Ward ward_;
  // In the order they need each other; the engine outlives whoever tells it something.
  std::unique_ptr<Loop> loop_;
  sched::Engine engine_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<Processes> processes_;
  std::unique_ptr<Agents> agents_;
  std::unique_ptr<Clients> clients_;
  std::unique_ptr<Peers> peers_;
  std::unique_ptr<Outside> outside_;
  std::unique_ptr<RingWatch> rings_;
  std::unique_ptr<Discovery> discovery_;
  std::unique_ptr<DirectoryWatch> directory_watch_;
  std::optional<u64> rings_as_of_;  // the engine's changes that those who are watched follow from
  UniqueFd signals_;
  std::optional<u64> watchdog_interval_ns_, next_watchdog_ns_;
  u64 board_deadline_ns_ = 0;
  bool ending_ = false;
  Status served_ = ok();  // why the loop has ended
  DriverView driver_;
  SlotReserver reserver_;
  std::set<u32> gpu_ids_;
  Leadership leadership_;
};

}  // namespace gp::daemon
