#include "driver/queues/dqm.h"

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "device/clock.h"
#include "driver/node.h"
#include "driver/process.h"

namespace vgpu::driver {
namespace {

constexpr u32 kMaxQueuesPerDevice = 4096;  // amdgpu.max_num_of_queues_per_device
constexpr u64 kRunListBase = 0x7e'0000'0000;

// update_mqd: what the hardware will see at the next map. The saved waves live elsewhere and
// survive it.
void write_mqd(const Queue& queue) {
  device::QueueProperties& mqd = queue.mqd->properties;
  mqd.ring_base = queue.ring_base;
  mqd.ring_size = queue.ring_base ? queue.ring_size : 0;
  mqd.priority = queue.priority;
  mqd.cu_mask = queue.cu_mask;
}

}  // namespace

Dqm::Dqm(Node& node, WorkQueue& work, u64 hws_timeout_ms, bool patched,
         std::function<void()> on_hang)
    : node_(node),
      work_(work),
      timeout_ns_(hws_timeout_ms * 1'000'000),
      patched_(patched),
      on_hang_(std::move(on_hang)) {}

// ---- unmap, map ----

int Dqm::unmap() {
  if (hung_) {
    return -EIO;  // a reset is under way (down_read_trylock of the reset domain fails)
  }
  if (!sent_.active) {
    return 0;
  }
  if (!node_.gpu->unmap_queues(timeout_ns_)) {
    log_error(
        "gpu {:x}: the hardware scheduler did not unmap its queues in time; resetting the GPU",
        node_.gpu_id);
    hung_ = true;
    on_hang_();
    return -ETIME;
  }
  sent_ = {};
  return 0;
}

// The stock driver maps every process with queues, also if none of them is active: it counts for
// oversubscription (kfd_packet_manager.c:153-210).
bool Dqm::is_mapped(const ProcessDevice& device) const {
  return !patched_ || std::any_of(device.queues.begin(), device.queues.end(),
                                  [](const QueuePtr& queue) { return queue->is_active; });
}

int Dqm::map() {
  if (sent_.active) {
    return 0;
  }
  balance_slots();
  if (active_queues_ == 0 || processes_.empty()) {
    return 0;
  }
  device::RunList list;
  sent_.chained = over_subscribed();
  // A new buffer each time, as the driver's sub-allocator gives.
  sent_.address = kRunListBase + (runlist_serial_++ % 64) * 0x4000;
  for (ProcessDevice* device : processes_) {
    if (!is_mapped(*device)) {
      continue;
    }
    std::vector<device::MqdPtr> mqds;
    std::vector<QueuePtr> queues;
    for (const QueuePtr& queue : device->queues) {
      if (queue->is_active) {
        mqds.push_back(queue->mqd);
        queues.push_back(queue);
      }
    }
    list.push_back({device->vmid, std::move(mqds)});
    sent_.processes.push_back(device);
    sent_.queues.push_back(std::move(queues));
  }
  sent_.active = true;
  node_.gpu->run_list(std::move(list));
  return 0;
}

int Dqm::execute() {
  const int error = unmap();
  return error ? error : map();
}

int Dqm::execute_suspend() {
  if (failing_suspends_ > 0) {
    --failing_suspends_;
    return -EIO;
  }
  return execute();
}

bool Dqm::over_subscribed() const {
  const u32 vmids = node_.config.vmids - (debug_vmid_reserved_ ? 1 : 0);
  const auto processes =
      std::count_if(processes_.begin(), processes_.end(),
                    [&](const ProcessDevice* device) { return is_mapped(*device); });
  return processes > static_cast<long>(vmids) || active_compute_queues_ > node_.config.hqds ||
         gws_queues_ > 1;
}

void Dqm::count(const Queue& queue, int delta) {
  active_queues_ += delta;
  if (queue.is_compute()) {
    active_compute_queues_ += delta;
  }
  if (queue.is_gws) {
    gws_queues_ += delta;
  }
}

// ---- create, destroy, update ----

void Dqm::register_device(ProcessDevice& device) {
  if (device.queues.empty()) {
    processes_.push_front(&device);
  }
}

void Dqm::unregister_if_empty(ProcessDevice& device) {
  if (device.queues.empty()) {
    processes_.remove(&device);
  }
}

// SDMA queues have fixed places: ids are handed out round robin over the engines
// (allocate_sdma_queue).
int Dqm::allocate_sdma(Queue& queue) {
  const u32 engines = node_.profile->sdma_engines;
  const u32 slots = engines * node_.profile->sdma_queues_per_engine;
  if (queue.ioc_type == abi::queue_type_sdma_xgmi) {
    return -ENOMEM;  // the profiles have no XGMI engines
  }
  const bool by_engine = queue.ioc_type == abi::queue_type_sdma_by_engine;
  for (u32 slot = 0; slot < slots; ++slot) {
    if (sdma_bitmap_ >> slot & 1 || (by_engine && slot % engines != queue.sdma_engine)) {
      continue;
    }
    sdma_bitmap_ |= u64{1} << slot;
    queue.sdma_engine = slot % engines;
    queue.sdma_queue = slot / engines;
    queue.ioc_type = abi::queue_type_sdma;
    return 0;
  }
  return -ENOMEM;
}

void Dqm::deallocate_sdma(const Queue& queue) {
  if (queue.is_sdma()) {
    sdma_bitmap_ &=
        ~(u64{1} << (queue.sdma_queue * node_.profile->sdma_engines + queue.sdma_engine));
  }
}

int Dqm::create_queue(const QueuePtr& queue) {
  const std::lock_guard lock(mutex_);
  if (total_queues_ >= kMaxQueuesPerDevice) {
    return -EPERM;
  }
  if (queue->is_sdma()) {
    if (const int error = allocate_sdma(*queue)) {
      return error;
    }
    queue->mqd->properties.sdma_engine = queue->sdma_engine;
  }
  ProcessDevice& device = *queue->device;
  queue->is_evicted = device.evicted > 0;
  set_held(*queue, is_covered(*queue));  // a new queue of a held process does not escape
  queue->is_active = queue->should_be_active();
  write_mqd(*queue);

  register_device(device);
  device.queues.push_front(queue);
  if (queue->is_active) {
    count(*queue, 1);
    if (const int error = execute()) {
      if (queue->is_active) {
        count(*queue, -1);
        queue->is_active = false;
      }
      forget_queue(*queue);
      device.queues.pop_front();
      unregister_if_empty(device);
      deallocate_sdma(*queue);
      return error;
    }
  }
  ++total_queues_;
  return 0;
}

int Dqm::destroy_queue(const QueuePtr& queue, std::unique_lock<std::mutex>& process_lock) {
  Process& process = queue->device->process;
  std::unique_lock lock(mutex_);
  queue->is_being_destroyed = true;
  while (process.debug_trap_enabled && queue->is_suspended) {
    if (process.abandoned) {
      return process.abandoned;
    }
    process_lock.unlock();
    destroy_wait_.wait(lock);
    // Take the locks in order again.
    lock.unlock();
    process_lock.lock();
    lock.lock();
  }
  ProcessDevice& device = *queue->device;
  const auto place = std::find(device.queues.begin(), device.queues.end(), queue);
  if (place == device.queues.end()) {
    return -EINVAL;  // another thread destroyed it, or the process ended, while this one waited
  }
  deallocate_sdma(*queue);
  int error = 0;
  if (queue->is_active) {
    count(*queue, -1);
    queue->is_active = false;
    error = execute();
  }
  forget_queue(*queue);
  device.queues.erase(place);
  unregister_if_empty(device);
  --total_queues_;
  return error;
}

int Dqm::update_queue(Queue& queue, const std::function<void()>& change) {
  const std::lock_guard lock(mutex_);
  const bool was_active = queue.is_active;
  // The MQD may only be written while the queue is off the device.
  const int error = was_active || !patched_ ? unmap() : 0;
  if (error) {
    return error;
  }
  change();
  queue.is_active = queue.should_be_active();
  write_mqd(queue);

  if (queue.is_active != was_active) {
    count(queue, queue.is_active ? 1 : -1);
  } else if (queue.wants_gws != queue.is_gws && queue.is_active) {
    gws_queues_ += queue.wants_gws ? 1 : -1;
  }
  queue.is_gws = queue.wants_gws;
  return execute_if(was_active || queue.is_active);
}

// The list that was sent last may name the process as long as a hung scheduler keeps it; nobody
// may look at it through that list once the process is gone.
void Dqm::forget(const ProcessDevice& device) {
  for (std::size_t i = sent_.processes.size(); i-- > 0;) {
    if (sent_.processes[i] == &device) {
      sent_.processes.erase(sent_.processes.begin() + static_cast<std::ptrdiff_t>(i));
      sent_.queues.erase(sent_.queues.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

void Dqm::terminate(ProcessDevice& device) {
  const std::lock_guard lock(mutex_);
  device.is_terminated = true;
  if (device.queues.empty()) {
    holds_.remove_if([&](const Hold& hold) { return hold.device == &device; });
    forget(device);
    return;
  }
  bool was_active = false;
  for (const QueuePtr& queue : device.queues) {
    deallocate_sdma(*queue);
    if (queue->is_active) {
      count(*queue, -1);
      queue->is_active = false;
      was_active = true;
    }
    queue->is_suspended = false;
    forget_queue(*queue);
    --total_queues_;
  }
  holds_.remove_if([&](const Hold& hold) { return hold.device == &device; });
  device.queues.clear();
  processes_.remove(&device);
  destroy_wait_.notify_all();
  // A hung scheduler is being reset, which drops the queues too.
  if (const int error = execute_if(was_active)) {
    log_warning("gpu {:x}: ending the queues of process {}: error {}", node_.gpu_id,
                device.process.pid, -error);
    forget(device);
  }
}

int Dqm::refresh() {
  const std::lock_guard lock(mutex_);
  return execute();
}

// ---- evict, restore ----

int Dqm::evict(ProcessDevice& device) {
  const std::lock_guard lock(mutex_);
  if (device.evicted++ > 0 || !device.vm_acquired) {
    return 0;
  }
  bool changed = false;
  for (const QueuePtr& queue : device.queues) {
    queue->is_evicted = true;
    if (queue->is_active) {
      queue->is_active = false;
      count(*queue, -1);
      changed = true;
    }
  }
  device.last_evict_ns = device::now_ns();
  return execute_if(changed);
}

int Dqm::restore(ProcessDevice& device) {
  const std::lock_guard lock(mutex_);
  if (device.evicted == 0) {
    return 0;
  }
  if (--device.evicted > 0 || !device.vm_acquired) {
    return 0;
  }
  bool changed = false;
  for (const QueuePtr& queue : device.queues) {
    queue->is_evicted = false;
    if (queue->should_be_active()) {
      queue->is_active = true;
      count(*queue, 1);
      changed = true;
    }
  }
  const int error = execute_if(changed);
  device.evicted_ms += (device::now_ns() - device.last_evict_ns) / 1'000'000;
  return error;
}

// ---- reset, looking ----

void Dqm::reset() {
  const std::lock_guard lock(mutex_);
  node_.gpu->reset();
  sent_ = {};
  hung_ = false;
  map();
}

void Dqm::inspect(const std::function<void(const RunList&)>& look) {
  const std::lock_guard lock(mutex_);
  look(sent_);
}

void Dqm::fail_suspends(u32 count) {
  const std::lock_guard lock(mutex_);
  failing_suspends_ = count;
}

void Dqm::wake_destroyers() {
  const std::lock_guard lock(mutex_);
  destroy_wait_.notify_all();
}

}  // namespace vgpu::driver
