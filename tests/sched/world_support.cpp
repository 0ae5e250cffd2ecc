#include <algorithm>

#include "sched/sched_support.h"

namespace gp::sched {

namespace {

// As gpreemptd does where the driver has not got it.
Settings without_kernel(Settings settings) {
  settings.mechanisms.remove(Mechanism::kernel);
  return settings;
}

}  // namespace

World::World(Settings settings) : engine(*this, without_kernel(std::move(settings))) {}

void World::carry_out(const Order& order) {
  Model& model = models.at(order.process);
  switch (order.verb) {
    case Verb::extend:
      ++model.extends;
      EXPECT_TRUE(model.stopped || is_inside(order.mechanism) || is_stopping(order.process))
          << "extended what is not stopped";
      model.deadline_ns = order.deadline_ns;
      return;
    case Verb::prepare: ++model.prepares; break;
    case Verb::stop:
      model.tried.push_back(order.mechanism);
      journal.insert(order.process);
      EXPECT_GT(order.deadline_ns, now_ns) << "a stop without a deadline";
      break;
    case Verb::start: break;
  }
  if (!model.silent || !is_inside(order.mechanism)) {
    const bool prepares = order.verb == Verb::prepare && model.prepare_takes_ns != 0;
    model.free_at_ns =
        std::max(model.free_at_ns, now_ns) + (prepares ? model.prepare_takes_ns : model.takes_ns);
    pending_.push_back({order, model.free_at_ns});
  }
}

bool World::is_stopping(ProcessId process) const {
  return std::any_of(pending_.begin(), pending_.end(), [&](const auto& each) {
    return each.order.verb == Verb::stop && each.order.process == process;
  });
}

std::optional<Activity> World::activity(ProcessId process) {
  const auto found = models.find(process);
  if (found == models.end() || !found->second.has_page) {
    return std::nullopt;
  }
  return found->second.activity;
}

void World::answer(const Order& order) {
  const auto found = models.find(order.process);
  if (found == models.end()) {
    return;
  }
  Model& model = found->second;
  Answer answer{order.sequence, 0, "", now_ns - model.takes_ns / 2, now_ns};
  if (order.verb != Verb::start && model.refuses.contains(order.mechanism)) {
    answer.error = model.refuses[order.mechanism];
    answer.reason = "refused";
  } else if (order.verb == Verb::stop) {
    model.stops += !model.stopped;
    model.stopped = true;
    model.mechanism = order.mechanism;
    model.deadline_ns = std::max(model.deadline_ns, order.deadline_ns);
  } else if (order.verb == Verb::start && model.start_fails) {
    answer.error = EIO;
    answer.reason = "the driver does not start it";
  } else if (order.verb == Verb::start) {
    model.starts += model.stopped;
    model.stopped = false;
  }
  engine.answered(now_ns, order.process, answer);
}

void World::end_leases() {
  for (auto& [id, model] : models) {
    if (model.stopped && now_ns >= model.deadline_ns) {
      model.stopped = false;
      ++overdue;
      if (is_inside(model.mechanism)) {
        ++model.activity.overdue_starts;
      } else {
        engine.lease_ended(now_ns, id);
      }
    }
  }
}

ProcessId World::add(ProcessFacts facts, MechanismSet abilities, u32 gpu_id) {
  facts.key = {next_pid_++, 1};
  const ProcessId id = engine.add_process(now_ns, facts);
  models[id].has_page = !abilities.empty();
  if (!abilities.empty()) {
    engine.agent_joined(now_ns, id, abilities);
  }
  engine.set_queues(now_ns, id, QueueSource::seen, {{gpu_id, 1}}, true);
  settle();
  return id;
}

ProcessId World::online(const std::string& job) {
  ProcessFacts facts;
  facts.work_class = WorkClass::online;
  facts.class_source = ClassSource::run_command;
  facts.job = job;
  return add(facts, MechanismSet(Mechanism::self_debug, Mechanism::update_queue));
}

ProcessId World::offline(const std::string& job) {
  ProcessFacts facts;
  facts.work_class = WorkClass::offline;
  facts.class_source = ClassSource::run_command;
  facts.job = job;
  return add(facts, MechanismSet(Mechanism::self_debug, Mechanism::update_queue, Mechanism::gate));
}

void World::remove(ProcessId id) {
  models.erase(id);
  engine.remove_process(now_ns, id);
  settle();
}

void World::set_busy(ProcessId id, bool busy) {
  Activity& activity = of(id).activity;
  activity.busy = busy;
  (busy ? activity.busy_since_ns : activity.idle_since_ns) = now_ns;
  activity.completed += !busy;
  engine.woken(id);
  settle();
}

std::optional<u64> World::next_event_ns() const {
  std::optional<u64> next = engine.wake_ns();
  const auto at = [&](u64 time_ns) { next = std::min(next.value_or(time_ns), time_ns); };
  for (const Pending& each : pending_) {
    at(each.at_ns);
  }
  for (const auto& [id, model] : models) {
    if (model.stopped) {
      at(model.deadline_ns);
    }
  }
  return next;
}

void World::sleep_for(u64 duration_ns) {
  now_ns += duration_ns;
  end_leases();
}

void World::run_for(u64 duration_ns) {
  const u64 end_ns = now_ns + duration_ns;
  for (auto next = next_event_ns(); next && *next <= end_ns; next = next_event_ns()) {
    now_ns = std::max(now_ns, *next);
    std::vector<Order> due;
    std::erase_if(pending_, [&](const Pending& each) {
      if (each.at_ns <= now_ns) {
        due.push_back(each.order);
      }
      return each.at_ns <= now_ns;
    });
    for (const Order& order : due) {
      answer(order);
    }
    settle();  // before the leases: the engine has its chance to extend them in time
    end_leases();
  }
  now_ns = end_ns;
}

JobReport World::job(ProcessId id) {
  const Job* wanted = engine.find_job(id);
  for (const JobReport& each : engine.report(now_ns).jobs) {
    if (wanted != nullptr && each.id == wanted->id) {
      return each;
    }
  }
  ADD_FAILURE() << "no such job";
  return {};
}

}  // namespace gp::sched
