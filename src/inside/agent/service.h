// The agent's thread: keeps the connection to the daemon, carries out its commands, ends leases
// that are overdue, and starts everything when the connection ends. There is one for each part of
// the process (model/part.h) that has ever had queues; that of the rest is there always, and also
// listens to the driver.
#pragma once

#include <pthread.h>

#include <atomic>

#include "agent/api_tables.h"
#include "agent/gate.h"
#include "agent/link.h"
#include "agent/stopper.h"
#include "kfd/channel.h"
#include "wire/page.h"

namespace gp::agent {

class Service {
 public:
  constexpr explicit Service(Part part) : part_(part) {}

  // Starts the thread if it does not run yet; called when the program makes its first queue.
  void start(const kfd::Channel& channel);
  // The same, but all that is ever said to a daemon, and once to people on standard error, is that
  // there is no agent here, and why.
  void start_refused(const Refusal& refusal);
  // Has the thread look at the queues again: some came or went.
  void queues_changed() { kick(); }
  // Ends the thread, closes everything but what close_kick() does. `join` is false when the process
  // ends: the thread then sees to its end by itself, or never runs again.
  void stop(bool join);
  // Once all threads have ended, which kick each other.
  void close_kick();
  // In the child of a fork: the thread is not there, and the daemon must not think that we live as
  // long as the child does.
  void forget_in_child();

 private:
  static void* thread_main(void* self);
  void start_thread_of(const kfd::Channel& channel);
  bool refused() const { return refusal_.text[0] != '\0'; }
  void tell_people() const;
  bool make_page();
  // Takes the daemon's page and eventfd in place of those we have.
  bool adopt(int page, int wake) const;
  void refuse_shared_page();
  void run();
  void kick() const;

  bool connect();
  int say_hello();
  int say_refused();
  void lose_daemon();
  void forget_announced();
  bool may_connect() const;
  bool time_to_connect(bool directory_changed);
  void connect_again();
  void invite_parts();
  void follow_session() const;
  void read_messages();
  bool dispatch(const wire::Header& header);
  bool on_files(int (&files)[2]);
  void on_welcome(const wire::Welcome& welcome);
  // Real-time, if permitted: while there is a daemon that will have this thread stop queues.
  void be_prompt(bool wanted);
  void on_stop(const wire::Command& command);
  void on_start(const wire::Command& command);
  void on_gate(const wire::GateCommand& command);
  StopOutcome set_gate(const GateWindow& window, u64 deadline_ns);
  void answer(u32 sequence, const StopOutcome& outcome, u64 received_ns);
  void announce_queues();
  bool announce_those(QueueState state);  // false: the daemon has gone
  bool is_news(TrackedQueue& queue, QueueState state) const;
  bool announce(const TrackedQueue& queue, QueueState state);

  void arm_lease(u64 deadline_ns);
  void check_lease();
  void listen_to_driver();
  void check_lost();
  void tell_that_queues_run();
  int milliseconds_to_next() const;
  StopOutcome start_queues();

  Part part_;
  pthread_t thread_ = {};
  bool running_ = false;
  std::atomic<bool> quit_{false};
  Link link_;
  std::atomic<bool> welcomed_{false};  // other parts ask the rest
  std::atomic<bool> retry_{false};     // to connect now may have a better end than before
  bool prompt_ = false, real_time_ = false;
  Refusal refusal_;  // empty: the agent works here
  kfd::Channel channel_;
  int wake_fd_ = -1;              // the daemon's, once it has sent one
  std::atomic<int> kick_fd_{-1};  // our thread's; any thread writes to it
  wire::Page* page_ = nullptr;    // always at the same address: hooks write to it
  bool has_daemons_page_ = false;
  u32 unshared_ = 0;                   // pages in a row that could not be taken
  bool gate_shut_ = false;             // no packet passes: a lease
  u64 lease_ns_ = 0;                   // the longest stop without a word from the daemon
  u64 lease_ends_ns_ = 0;              // 0: nothing is stopped
  u64 last_page_deadline_ = 0;         // as it was when lease_ends_ns_ was set
  alignas(8) char message_[512] = {};  // longer than any message to an agent
};

extern Service services[kParts];
inline Service& service_of(Part part) { return services[index_of(part)]; }

}  // namespace gp::agent
