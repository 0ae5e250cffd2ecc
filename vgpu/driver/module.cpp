// The process table: how a process comes into being and how everything it had is undone
// (kfd_process.c).
#include "driver/module.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "driver/debug/debug.h"
#include "driver/memory/memory.h"
#include "driver/queues/doorbells.h"
#include "driver/task.h"

namespace vgpu::driver {
namespace {

constexpr u32 kFirstPasid = 0x8001, kLastPasid = 0xffff;

// Apertures of gfx9: LDS and scratch live in the hole of non-canonical addresses
// (kfd_flat_memory.c:kfd_init_apertures_v9). A limit of 2^47 - 1 lets the thunk use plain mmap.
abi::DeviceApertures apertures(u32 gpu_id) {
  return {
      .lds_base = u64{1} << 48,
      .lds_limit = (u64{1} << 48) + 0xffffffff,
      .scratch_base = u64{2} << 48,
      .scratch_limit = (u64{2} << 48) + 0xffffffff,
      .gpuvm_base = 0x4000,
      .gpuvm_limit = (u64{1} << 47) - 1,
      .gpu_id = gpu_id,
      .pad = 0,
  };
}

Result<UniqueFd> make_kfd_file(std::size_t gpus, FileId* id) {
  UniqueFd file(memfd_create("kfd", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  struct stat status {};
  const u64 bytes = doorbell_token(static_cast<u32>(gpus));
  if (!file || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
      fstat(file.get(), &status) != 0) {
    return Error{errno, "create the process's /dev/kfd", ""};
  }
  *id = {status.st_dev, status.st_ino};
  return file;
}

}  // namespace

Node* Module::find_node(u32 gpu_id) {
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [&](const auto& node) { return node->gpu_id == gpu_id; });
  return found == nodes.end() ? nullptr : found->get();
}

ProcessPtr Module::find_process(pid_t pid) const {
  const std::shared_lock lock(table_mutex);
  const auto found = processes.find(pid);
  return found == processes.end() ? nullptr : found->second;
}

ProcessPtr Module::find_process(FileId file) const {
  const std::shared_lock lock(table_mutex);
  for (const auto& [pid, process] : processes) {
    if (process->file == file) {
      return process;
    }
  }
  return nullptr;
}

ProcessPtr Module::find_process_by_pasid(u32 pasid) const {
  const std::shared_lock lock(table_mutex);
  const auto found = by_pasid.find(pasid);
  return found == by_pasid.end() ? nullptr : found->second;
}

std::vector<ProcessPtr> Module::all_processes() const {
  const std::shared_lock lock(table_mutex);
  std::vector<ProcessPtr> all;
  for (const auto& [pid, process] : processes) {
    all.push_back(process);
  }
  return all;
}

Result<ProcessPtr> Module::make_process(pid_t pid) {
  u32 pasid = next_pasid;
  {
    const std::shared_lock lock(table_mutex);
    while (by_pasid.count(pasid)) {
      pasid = pasid == kLastPasid ? kFirstPasid : pasid + 1;
    }
  }
  next_pasid = pasid == kLastPasid ? kFirstPasid : pasid + 1;

  auto process = std::make_shared<Process>(pid, pasid);
  process->own_pid = pid_as_seen_by(pid, pid);
  process->kfd_file = TRY(make_kfd_file(nodes.size(), &process->file));
  for (const auto& node : nodes) {
    auto device = std::make_unique<ProcessDevice>(*process, *node);
    device->vmid = std::make_shared<device::Vmid>(pasid, profile->arch, *engine);
    device->apertures = apertures(node->gpu_id);
    process->devices.push_back(std::move(device));
  }
  return process;
}

Result<ProcessPtr> Module::create_process(pid_t pid) {
  const std::lock_guard create_lock(create_mutex_);
  if (ProcessPtr known = find_process(pid)) {
    return known;
  }
  if (stopping) {
    return Error{ENODEV, "the driver is shutting down", ""};
  }
  ProcessPtr process = TRY(make_process(pid));
  process->pidfd.reset(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  sysfs->add_process(pid);
  {
    const std::unique_lock lock(table_mutex);
    processes[pid] = process;
    by_pasid[process->pasid] = process;
  }
  // Also processes that only a debugger made known, and which no server watches, must be cleaned
  // up. Ending twice does no harm. Watched last: whoever is dead already is found in the table.
  UniqueFd pidfd(process->pidfd ? ::fcntl(process->pidfd.get(), F_DUPFD_CLOEXEC, 0) : -1);
  if (pidfd) {
    std::weak_ptr<Process> watched = process;
    work->watch(std::move(pidfd), [this, pid, watched] {
      if (const ProcessPtr ended = watched.lock(); ended && ended == find_process(pid)) {
        process_exited(pid);
      }
    });
  }
  return process;
}

// What the process did as debugger ends: its targets run again.
void Module::undo_as_debugger(const ProcessPtr& process) {
  for (const ProcessPtr& target : all_processes()) {
    const std::lock_guard lock(target->mutex);
    if (target->debugger.lock() == process) {
      debug_disable(*target);
      target->debugger.reset();
    }
  }
}

void Module::process_exited(pid_t pid) {
  ProcessPtr process;
  {
    const std::unique_lock lock(table_mutex);
    const auto found = processes.find(pid);
    if (found == processes.end()) {
      return;
    }
    process = found->second;
    processes.erase(found);
    by_pasid.erase(process->pasid);
  }
  // Blocked calls return.
  process->events.close(-EINTR);
  {
    const std::lock_guard lock(process->mutex);
    process->abandoned = -EINTR;
    process->runtime_wake.notify_all();
  }
  for (const auto& node : nodes) {
    node->dqm->wake_destroyers();
  }
  leases->release_owned_by(*process);
  {
    const std::lock_guard lock(process->mutex);
    debug_disable(*process);
  }
  undo_as_debugger(process);

  const std::lock_guard lock(process->mutex);
  process->exited = true;
  for (const auto& device : process->devices) {
    device->node.dqm->terminate(*device);
  }
  {
    const std::lock_guard event_lock(process->event_mutex);
    process->queues.clear();
    process->queue_slots.reset();
  }
  for (const auto& device : process->devices) {
    release_all_memory(*device);
    release_doorbells(*this, *device);
  }
  sysfs->remove_process(pid);
  log_debug("process {} (pasid {:#x}) is gone", pid, process->pasid);
}

void Module::reset_gpu(Node& node) {
  const u32 sequence = ++reset_sequence;
  node.smi.gpu_reset(false, sequence, "HWS hang");
  const abi::HwExceptionData data = {
      .reset_type = abi::kResetWholeGpu,
      .reset_cause = abi::kResetCauseHang,
      .memory_lost = 1,
      .gpu_id = node.gpu_id,
  };
  for (const ProcessPtr& process : all_processes()) {
    process->events.signal_hw_exception(data);
  }
  node.dqm->reset();
  node.smi.gpu_reset(true, sequence, "HWS hang");
  log_warning("gpu {:x}: reset {} done", node.gpu_id, sequence);
}

}  // namespace vgpu::driver
