// The driver as the server sees it.
#include "driver/driver.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "base/log.h"
#include "driver/debug/debug.h"
#include "driver/files/virtual_files.h"
#include "driver/host.h"
#include "driver/injection.h"
#include "driver/ioctl_table.h"
#include "driver/queues/queues.h"

namespace vgpu::driver {
namespace {

// gpu_id is a 16-bit hash of the device in the kernel too.
u32 make_gpu_id(const Profile& profile, u32 index) {
  return 1 + (profile.device_id * 2654435761u + index * 40503u) % 0xfffe;
}

const char* type_name(const Queue& queue) {
  switch (queue.ioc_type) {
    case abi::queue_type_compute: return "compute";
    case abi::queue_type_compute_aql: return "aql";
    case abi::queue_type_sdma_xgmi: return "sdma_xgmi";
    default: return "sdma";
  }
}

// With the lock of the device queue manager held.
const char* state_name(const Queue& queue) {
  if (queue.is_suspended) {
    return "suspended";
  }
  if (queue.is_evicted) {
    return "evicted";
  }
  if (queue.is_held) {
    return "held";
  }
  if (queue.is_preempted) {
    return "preempted";
  }
  if (!queue.is_active) {
    return queue.is_waiting ? "withheld" : "inactive";
  }
  const auto state = queue.device->node.gpu->queue_state(*queue.mqd);
  return state == device::QueueState::mapped ? "mapped" : "waiting";
}

Result<UniqueFd> duplicate(int fd) {
  UniqueFd copy(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy) {
    return Error{errno, "duplicate a device file", ""};
  }
  return copy;
}

}  // namespace

Driver::Driver() : module_(std::make_unique<Module>()) {}

Driver::~Driver() {
  Module& module = *module_;
  shut_down();
  // First what runs, then what it runs on.
  if (module.work) {
    module.work->stop();
  }
  for (const auto& node : module.nodes) {
    node->releases.stop();
    node->gpu.reset();
  }
}

Result<std::unique_ptr<Driver>> Driver::create(DriverConfig config) {
  std::unique_ptr<Driver> driver(new Driver);
  Module& module = *driver->module_;
  module.profile = find_profile(config.profile);
  if (!module.profile) {
    return Error{EINVAL, fmt::format("no profile \"{}\"", config.profile),
                 fmt::format("profiles: {}", profile_names())};
  }
  if (config.gpus == 0 || config.gpus > 64 || config.gpu.cus == 0 || config.gpu.hqds == 0) {
    return Error{EINVAL, "a machine needs 1 to 64 GPUs, each with CUs and HQDs", ""};
  }
  if (config.kernel_patches && config.kfd == KfdVersion::v1_11) {
    return Error{EINVAL, "the kernel patches are for Linux 6.12", "use --kfd 1.17 or dkms"};
  }
  module.engine = isa::host_engine();
  if (!module.engine) {
    return Error{ENOTSUP, "this CPU lacks AVX2 or FMA", "the interpreter needs x86-64-v3"};
  }
  apply_profile(*module.profile, config.gpu);
  module.config = std::move(config);
  module.pool = TRY(MemoryPool::create(module.config.gpus, module.config.vram_bytes));
  module.work = std::make_unique<WorkQueue>();
  module.leases = std::make_unique<Leases>(module);
  module.doorbells = std::make_unique<device::DoorbellWatch>();

  for (u32 i = 0; i < module.config.gpus; ++i) {
    auto node = std::make_unique<Node>();
    node->index = i;
    node->gpu_id = make_gpu_id(*module.profile, i);
    node->render_minor = 128 + i;
    node->profile = module.profile;
    node->config = module.config.gpu;
    node->save_area = save_area_sizes(*module.profile, module.config.gpu);
    set_capabilities(*node, module.has_debugger());
    module.hosts.push_back(std::make_unique<NodeHost>(module, *node));
    node->gpu = std::make_unique<device::Gpu>(node->config, *module.engine, *module.doorbells,
                                              *module.hosts.back());
    node->dqm = std::make_unique<Dqm>(
        *node, *module.work, module.config.hws_timeout_ms, module.config.kernel_patches,
        [&module, n = node.get()] { module.work->add([&module, n] { module.reset_gpu(*n); }); });
    module.nodes.push_back(std::move(node));
  }
  module.sysfs = TRY(
      SysfsTree::create(module.config, module.nodes, module.pool->capacity(MemoryPool::kSystem)));
  return driver;
}

Result<UniqueFd> Driver::open_kfd(pid_t pid) {
  const ProcessPtr process = TRY(module_->create_process(pid));
  return duplicate(process->kfd_file.get());
}

Result<UniqueFd> Driver::open_render(u32 minor) {
  Module& module = *module_;
  constexpr u32 kFirstRenderMinor = 128;  // those of the primary nodes (card0) begin at 0
  if (minor % kFirstRenderMinor >= module.nodes.size() || minor >= 2 * kFirstRenderMinor) {
    return Error{ENOENT, fmt::format("DRM node {}", minor), ""};
  }
  // Opened anew, not duplicated: copies would share their position.
  const std::string memory = fmt::format("/proc/self/fd/{}", module.pool->fd());
  UniqueFd file(::open(memory.c_str(), O_RDWR | O_CLOEXEC));
  if (!file || ::lseek(file.get(), minor, SEEK_SET) < 0) {
    return Error{errno, fmt::format("open DRM node {}", minor), ""};
  }
  return file;
}

int Driver::ioctl(Caller& caller, FileId file, u32 command, std::span<u8> args) {
  Module& module = *module_;
  if (module.stopping) {
    return -ENODEV;
  }
  module.leases->release_closed();
  return dispatch_ioctl(module, caller, file, command, args);
}

Result<std::string> Driver::read_file(std::string_view path) {
  Module& module = *module_;
  module.leases->release_closed();
  const std::string name = canonical_path(path);
  if (const std::string* text = module.sysfs->find(name)) {
    return *text;
  }
  constexpr std::string_view kProc = "/sys/class/kfd/kfd/proc/";
  if (name.starts_with(kProc)) {
    return read_process_file(module, name.substr(kProc.size()));
  }
  const std::pair<const char*, std::string (*)(Module&)> files[] = {
      {"/sys/kernel/debug/kfd/mqds", debugfs_mqds},
      {"/sys/kernel/debug/kfd/hqds", debugfs_hqds},
      {"/sys/kernel/debug/kfd/rls", debugfs_rls},
      {"/sys/kernel/debug/kfd/mem_limit", debugfs_mem_limit},
  };
  for (const auto& [file, make] : files) {
    if (name == file) {
      return make(module);
    }
  }
  if (name == "/sys/kernel/debug/kfd/hang_hws") {
    return std::string("echo gpu_id > hang_hws\n");
  }
  return read_device_file(module, module.sysfs->real_name(name));
}

Status Driver::write_file(std::string_view path, std::string_view data) {
  Module& module = *module_;
  if (path != "/sys/kernel/debug/kfd/hang_hws") {
    return Error{module.sysfs->find(canonical_path(path)) ? EACCES : ENOENT, std::string(path), ""};
  }
  while (!data.empty() && data.back() == '\n') {
    data.remove_suffix(1);
  }
  u32 gpu_id = 0;
  const auto parsed = std::from_chars(data.data(), data.data() + data.size(), gpu_id);
  Node* node = module.find_node(gpu_id);
  if (parsed.ec != std::errc() || parsed.ptr != data.data() + data.size() || !node) {
    return Error{EINVAL, "hang_hws takes a gpu_id", ""};
  }
  hang_scheduler(module, *node);
  return ok();
}

Status Driver::attach_doorbell_userfaultfd(pid_t pid, u64 kfd_offset, u64 client_va,
                                           UniqueFd uffd) {
  Module& module = *module_;
  const ProcessPtr process = module.find_process(pid);
  if (!process) {
    return Error{ESRCH, fmt::format("process {} has not opened the device", pid), ""};
  }
  const std::lock_guard lock(process->mutex);
  for (const auto& device : process->devices) {
    if (!process->exited && device->doorbells && kfd_offset == doorbell_token(device->node.index)) {
      module.doorbells->attach_userfaultfd(device->doorbells, std::move(uffd), client_va);
      return ok();
    }
  }
  return Error{EINVAL, fmt::format("offset {:#x} is no doorbell page", kfd_offset), ""};
}

void Driver::process_exited(pid_t pid) { module_->process_exited(pid); }

Stats Driver::stats() const {
  const Module& module = *module_;
  module.leases->release_closed();
  Stats stats;
  for (const auto& node : module.nodes) {
    const int region = static_cast<int>(node->index);
    stats.gpus.push_back({node->gpu_id, node->profile->name, node->config.cus, node->config.hqds,
                          module.pool->capacity(region), module.pool->used(region),
                          node->gpu->stats()});
  }
  for (const ProcessPtr& process : module.all_processes()) {
    const std::lock_guard lock(process->mutex);
    for (const QueuePtr& queue : process->queues) {
      const Node& node = queue->device->node;
      const std::lock_guard dqm_lock(node.dqm->mutex());
      stats.queues.push_back({process->pid, queue->id, node.gpu_id, type_name(*queue),
                              queue->priority, state_name(*queue)});
    }
  }
  return stats;
}

Status Driver::inject(std::string_view fault) { return inject_fault(*module_, fault); }

void Driver::shut_down() {
  Module& module = *module_;
  module.stopping = true;
  for (const ProcessPtr& process : module.all_processes()) {
    process->events.close(-ENODEV);
    const std::lock_guard lock(process->mutex);
    process->abandoned = -ENODEV;
    process->runtime_wake.notify_all();
  }
  for (const auto& node : module.nodes) {
    node->dqm->wake_destroyers();
  }
}

}  // namespace vgpu::driver
