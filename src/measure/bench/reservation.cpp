#include "bench/reservation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "bench/criteria.h"
#include "demo/summary.h"
#include "discover/discover.h"
#include "mechanism/reservation.h"
#include "os/os.h"

namespace gp::bench {
namespace {

using namespace std::chrono_literals;
using mechanism::SlotReservations;
using mechanism::SlotState;

constexpr unsigned kPrograms = 3;
constexpr u32 kReserved = 2;
constexpr u32 kTooMany = 6;  // queues more than slots

// The one that HIP calls the first.
Result<u32> first_gpu() {
  const auto snapshot = TRY(discover::take_snapshot(system_os(), {}, {}, {.debugfs = false}));
  for (const discover::Node& node : snapshot.nodes) {
    if (node.gpu_id != 0) {
      return node.gpu_id;
    }
  }
  return Error{ENODEV, "no GPU among the nodes of the driver", ""};
}

class Oversubscription {
 public:
  Oversubscription(const Context& context, const SlotReservations& reservations, u32 gpu_id)
      : context_(context), reservations_(reservations), gpu_id_(gpu_id) {}

  Status begin(u32 slots) {
    const unsigned queues = (slots + kTooMany + kPrograms - 1) / kPrograms;
    for (unsigned i = 0; i < kPrograms; ++i) {
      programs_.push_back(
          TRY(context_.launcher.trainer({nullptr,
                                         fmt::format("trainer{}", i),
                                         trainer_with(queues),
                                         {{"GPU_MAX_HW_QUEUES", std::to_string(queues)}}})));
      TRY(reservations_.set_low(TRY(discover::process_key(system_os(), {}, programs_.back().pid())),
                                true));
    }
    return ok();
  }

  Result<report::ReservedRun> serve(u32 reserved_slots) {
    TRY(reservations_.reserve(gpu_id_, reserved_slots));
    Words words = requests_every(50ms, context_.lasting(1500ms, 30s));
    words.emplace_back("--high-priority");
    demo::Child server = TRY(context_.launcher.server({nullptr, "server", words}));
    report::ReservedRun run;
    run.reserved_slots = reserved_slots;
    run.slots_used = TRY(watch_slots(server));
    const std::vector<double> latencies = latencies_ms(TRY(context_.launcher.served(server)));
    run.online_p50_ms = demo::quantile(latencies, 0.5);
    run.online_p99_ms = demo::quantile(latencies, 0.99);
    return run;
  }

  u32 most_queues() const { return most_queues_; }

 private:
  // Until the server has ended: which part of the slots had a queue, on average.
  Result<double> watch_slots(demo::Child& server) {
    double sum = 0;
    unsigned looks = 0;
    Status looked = ok();
    const auto look = [&] {
      const Result<SlotState> state = reservations_.state(gpu_id_);
      if (!state) {
        looked = state.error();
        return true;
      }
      most_queues_ = std::max(most_queues_, state->active_queues + state->waiting_queues);
      sum += std::min(1.0, static_cast<double>(state->active_queues) / state->num_slots);
      ++looks;
      return server.status().has_value();
    };
    std::vector<demo::Child*> running = {&server};
    for (demo::Child& program : programs_) {
      running.push_back(&program);
    }
    TRY(context_.launcher.waiter().wait("the last request", running, look, 24h));
    TRY(looked);
    return sum / looks;
  }

  const Context& context_;
  const SlotReservations& reservations_;
  const u32 gpu_id_;
  std::vector<demo::Child> programs_;
  u32 most_queues_ = 0;
};

Status measure(const Context& context, report::Reservation& result) {
  const auto reservations = TRY(SlotReservations::open());
  const u32 gpu_id = TRY(first_gpu());
  result.slots = TRY(reservations->state(gpu_id)).num_slots;
  Oversubscription load(context, *reservations, gpu_id);
  TRY(load.begin(result.slots));
  for (const u32 slots : {0U, kReserved}) {
    result.runs.push_back(TRY(load.serve(slots)));
  }
  result.queues = load.most_queues();
  return ok();
}

}  // namespace

Result<report::Reservation> compare_reservation(const Context& context) {
  report::Reservation result;
  const Status measured = measure(context, result);
  if (!measured && measured.error().code == EINTR) {
    return measured.error();
  }
  if (!measured) {
    result.note = measured.error().message();
  }
  return result;
}

}  // namespace gp::bench
