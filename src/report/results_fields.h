// The fields of results.json, listed once: fields(visit, object) calls visit(key, member) for each,
// for reading and for writing alike.
#pragma once

#include "report/results.h"

namespace gp::report {

// The type asked for, const or not.
template <class T, class Wanted>
concept Is = std::is_same_v<std::remove_const_t<T>, Wanted>;

template <class Visit, Is<Environment> T>
void fields(Visit&& visit, T& environment) {
  visit("virtual_gpu", environment.virtual_gpu);
  visit("device", environment.device);
  visit("cpu", environment.cpu);
  visit("cores", environment.cores);
  visit("kernel", environment.kernel);
  visit("rocm", environment.rocm);
  visit("gpreempt_version", environment.gpreempt_version);
  visit("date", environment.date);
  visit("command", environment.command);
}

template <class Visit, Is<Span> T>
void fields(Visit&& visit, T& span) {
  visit("track", span.track);
  visit("what", span.what);
  visit("start_us", span.start_us);
  visit("end_us", span.end_us);
}

template <class Visit, Is<Round> T>
void fields(Visit&& visit, T& round) {
  visit("requests", round.requests);
  visit("duration_s", round.duration_s);
  visit("offline_steps_per_s", round.offline_steps_per_s);
}

template <class Visit, Is<Phase> T>
void fields(Visit&& visit, T& phase) {
  visit("name", phase.name);
  visit("online_latency_ms", phase.online_latency_ms);
  visit("online_arrival_ms", phase.online_arrival_ms);
  visit("offline_steps_per_s", phase.offline_steps_per_s);
  visit("preemptions", phase.preemptions);
  visit("checksum_ok", phase.checksum_ok);
  visit("duration_s", phase.duration_s);
  visit("timeline", phase.timeline);
  visit("rounds", phase.rounds);
}

template <class Visit, Is<Criterion> T>
void fields(Visit&& visit, T& criterion) {
  visit("scenario", criterion.scenario);
  visit("what", criterion.what);
  visit("unit", criterion.unit);
  visit("limit", criterion.limit);
  visit("at_least", criterion.at_least);
  visit("value", criterion.value);
  visit("noise", criterion.noise);
  visit("note", criterion.note);
}

template <class Visit, Is<Scheme> T>
void fields(Visit&& visit, T& scheme) {
  visit("mechanism", scheme.mechanism);
  visit("level", scheme.level);
  visit("queues", scheme.queues);
  visit("stop_p50_us", scheme.stop_p50_us);
  visit("stop_p99_us", scheme.stop_p99_us);
  visit("start_p50_us", scheme.start_p50_us);
  visit("start_p99_us", scheme.start_p99_us);
  visit("online_p50_ms", scheme.online_p50_ms);
  visit("online_p99_ms", scheme.online_p99_ms);
  visit("offline_steps_per_s", scheme.offline_steps_per_s);
  visit("note", scheme.note);
  visit("low_over_high", scheme.low_over_high);
}

template <class Visit, Is<BatchWay> T>
void fields(Visit&& visit, T& way) {
  visit("mechanism", way.mechanism);
  visit("call_for", way.call_for);
  visit("calls", way.calls);
  visit("stop_p50_us", way.stop_p50_us);
  visit("stop_p99_us", way.stop_p99_us);
  visit("start_p50_us", way.start_p50_us);
  visit("start_p99_us", way.start_p99_us);
  visit("stop_unmaps", way.stop_unmaps);
  visit("start_unmaps", way.start_unmaps);
  visit("note", way.note);
}

template <class Visit, Is<Batching> T>
void fields(Visit&& visit, T& batching) {
  visit("processes", batching.processes);
  visit("queues", batching.queues);
  visit("ways", batching.ways);
}

template <class Visit, Is<ReservedRun> T>
void fields(Visit&& visit, T& run) {
  visit("reserved_slots", run.reserved_slots);
  visit("online_p50_ms", run.online_p50_ms);
  visit("online_p99_ms", run.online_p99_ms);
  visit("slots_used", run.slots_used);
}

template <class Visit, Is<Reservation> T>
void fields(Visit&& visit, T& reservation) {
  visit("slots", reservation.slots);
  visit("queues", reservation.queues);
  visit("runs", reservation.runs);
  visit("note", reservation.note);
}

template <class Visit, Is<Results> T>
void fields(Visit&& visit, T& results) {
  visit("environment", results.environment);
  visit("phases", results.phases);
  visit("criteria", results.criteria);
  visit("schemes", results.schemes);
  visit("batching", results.batching);
  visit("reservation", results.reservation);
}

}  // namespace gp::report
