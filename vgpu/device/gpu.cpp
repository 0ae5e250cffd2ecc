#include "device/gpu.h"

#include <algorithm>

#include "device/cost.h"
#include "device/impl.h"

namespace vgpu::device {

QueueExecution::QueueExecution() = default;
QueueExecution::~QueueExecution() = default;

Mqd::Mqd(std::shared_ptr<Vmid> vmid_, QueueProperties properties_, Doorbell doorbell_)
    : vmid(std::move(vmid_)),
      properties(std::move(properties_)),
      doorbell(std::move(doorbell_)),
      execution(std::make_unique<QueueExecution>()) {
  execution->mqd = this;
}
Mqd::~Mqd() = default;

Gpu::Impl::Impl(const GpuConfig& config, const isa::Engine& engine, DoorbellWatch& doorbells,
                Host& host)
    : config_(config),
      engine_(engine),
      doorbells_(doorbells),
      host_(host),
      occupancy_(config_),
      listed_doorbells_(std::make_shared<const std::vector<Doorbell>>()),
      hqds_(config.hqds),
      sdma_slots_(config.sdma_slots),
      vmids_(config.vmids) {
  ring_callback_ = doorbells_.on_ring([this] { kick(); });
  for (u32 i = 0; i < std::max(config_.workers, 1u); ++i) {
    workers_.push_back(std::make_unique<Worker>());
  }
  for (const auto& worker : workers_) {
    worker->thread = std::thread([this, self = worker.get()] { worker_main(*self); });
  }
}

Gpu::Impl::~Impl() {
  doorbells_.remove_callback(ring_callback_);
  {
    Lock lock(mutex_);
    stopping_ = true;
    raise_attention();
    kicks_.fetch_add(1, std::memory_order_relaxed);
    work_.notify_all();
    stopped_.notify_all();
  }
  for (const auto& worker : workers_) {
    worker->thread.join();
  }
  // The queues outlive the device: what is resident is lost with it.
  Lock lock(mutex_);
  for (const MqdPtr& mqd : listed_) {
    QueueExecution& queue = *mqd->execution;
    queue.ready.clear();
    queue.saved.clear();
    queue.groups.clear();
    queue.in_flight.clear();
    queue.launching = nullptr;
    queue.mapped = queue.leaving = false;
  }
}

// A doorbell page was rung, or something the device waits for in memory has changed.
void Gpu::Impl::kick() {
  Lock lock(mutex_);
  activity();
  looked_at_ = 0;
  kicks_.fetch_add(1, std::memory_order_relaxed);
  wake_worker();
}

QueueState Gpu::Impl::queue_state(const Mqd& mqd) const {
  Lock lock(mutex_);
  if (mqd.execution->mapped) {
    return QueueState::mapped;
  }
  const bool listed = std::any_of(listed_.begin(), listed_.end(),
                                  [&](const MqdPtr& other) { return other.get() == &mqd; });
  return listed ? QueueState::waiting : QueueState::unmapped;
}

SaveInfo Gpu::Impl::save_info(const Mqd& mqd) const {
  Lock lock(mutex_);
  return mqd.execution->save_info;
}

GpuStats Gpu::Impl::stats() const {
  Lock lock(mutex_);
  GpuStats stats = stats_;
  stats.hqds_active = static_cast<u32>(
      std::count_if(hqds_.begin(), hqds_.end(), [](const MqdPtr& mqd) { return mqd != nullptr; }));
  const Urgency::Counts urgency = urgency_.counts();
  stats.loans = urgency.loans;
  stats.loans_refused = urgency.refused;
  return stats;
}

// KFD has queues 2..7 of the 4 pipes of the first micro engine (the others are amdgpu's own), and
// the VMIDs up to 15.
std::vector<HqdView> Gpu::Impl::hqds() const {
  constexpr u32 kPipes = 4;
  constexpr u32 kFirstQueue = 2;
  constexpr u32 kVmidEnd = 16;
  Lock lock(mutex_);
  std::vector<HqdView> views;
  for (u32 i = 0; i < hqds_.size(); ++i) {
    HqdView view;
    view.pipe = i % kPipes;
    view.queue = kFirstQueue + i / kPipes;
    view.mqd = hqds_[i];
    if (view.mqd) {
      view.rptr = view.mqd->execution->read;
      view.wptr = view.mqd->execution->write;
      view.vmid = kVmidEnd - config_.vmids + vmid_index(*view.mqd->vmid).value_or(0);
    }
    views.push_back(std::move(view));
  }
  return views;
}

u32 Gpu::Impl::waves_resident(u32 pasid) const {
  Lock lock(mutex_);
  u32 waves = 0;
  for (const QueueExecution* queue : mapped_) {
    if (queue->mqd->vmid->pasid != pasid) {
      continue;
    }
    for (const auto& group : queue->groups) {
      waves += group->state == WorkGroup::State::saved ? 0 : group->footprint.waves;
    }
  }
  return waves;
}

void Gpu::Impl::release_cu(const WorkGroup& group) {
  occupancy_.release(group.footprint, group.placement);
  note_occupancy();
}

void Gpu::Impl::note_occupancy() {
  const bool busy = occupancy_.waves_resident() > 0;
  if (busy != busy_.busy()) {
    busy_.set(busy, now_ns());
  }
}

u32 Gpu::Impl::busy_percent() const {
  Lock lock(mutex_);
  return busy_.percent(now_ns());
}

void Gpu::Impl::inject(const Injection& injection) {
  Lock lock(mutex_);
  injection_ = injection;
}

// ---- the public face ----

Gpu::Gpu(GpuConfig config, const isa::Engine& engine, DoorbellWatch& doorbells, Host& host)
    : config_(config), impl_(std::make_unique<Impl>(config_, engine, doorbells, host)) {}
Gpu::~Gpu() = default;
bool Gpu::unmap_queues(u64 timeout_ns) { return impl_->unmap_queues(timeout_ns); }
void Gpu::run_list(RunList list) { impl_->run_list(std::move(list)); }
void Gpu::reset() { impl_->reset(); }
void Gpu::quiesce() { impl_->quiesce(); }
void Gpu::kick() { impl_->kick(); }
QueueState Gpu::queue_state(const Mqd& queue) const { return impl_->queue_state(queue); }
SaveInfo Gpu::save_info(const Mqd& queue) const { return impl_->save_info(queue); }
GpuStats Gpu::stats() const { return impl_->stats(); }
std::vector<HqdView> Gpu::hqds() const { return impl_->hqds(); }
u32 Gpu::waves_resident(u32 pasid) const { return impl_->waves_resident(pasid); }
u32 Gpu::busy_percent() const { return impl_->busy_percent(); }
void Gpu::inject(const Injection& injection) { impl_->inject(injection); }

}  // namespace vgpu::device
