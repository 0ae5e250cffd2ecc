#include "client.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "check.h"
#include "machine.h"

namespace {

constexpr uint32_t ring_bytes = 4096;
constexpr uint32_t end_of_pipe_bytes = 4096;

int result(int r) { return r < 0 ? -errno : r; }

bool read_gpu(const std::string& node, Gpu& gpu) {
  std::ifstream(node + "/gpu_id") >> gpu.id;
  if (gpu.id == 0)
    return false;
  std::map<std::string, uint64_t> properties;
  std::ifstream file(node + "/properties");
  std::string name;
  for (uint64_t value; file >> name >> value;) properties[name] = value;
  gpu.xccs = std::max<uint64_t>(properties["num_xcc"], 1);
  gpu.save_area_bytes = properties["cwsr_size"];
  gpu.control_stack_bytes = properties["ctl_stack_size"];
  // kfd_queue_ctx_save_restore_size(): 32 bytes for each wave that fits on an XCC. Both counts are
  // those of all XCCs together.
  uint64_t cus = properties["simd_count"] / properties["simd_per_cu"] / gpu.xccs;
  uint64_t engines = properties["array_count"] / properties["simd_arrays_per_engine"] / gpu.xccs;
  bool is_gfx9 = properties["gfx_target_version"] < 100100;
  gpu.debug_bytes = (is_gfx9 ? std::min(cus * 40, engines * 512) : cus * 32) * 32;
  return true;
}

}  // namespace

const std::vector<Gpu>& gpus() {
  static const std::vector<Gpu> found = [] {
    std::vector<Gpu> list;
    for (int node = 0; node < 16; node++) {
      Gpu gpu;
      if (read_gpu("/sys/class/kfd/kfd/topology/nodes/" + std::to_string(node), gpu))
        list.push_back(gpu);
    }
    return list;
  }();
  return found;
}

Client::Client() {
  fd_ = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  if (fd_ < 0)
    throw Failed(std::string("open /dev/kfd: ") + strerror(errno));
  for (unsigned gpu = 0; gpu < gpus().size(); gpu++) {
    int render = open_render_node(gpu);
    if (render < 0)
      throw Failed(std::string("open the render node: ") + strerror(errno));
    kfd_ioctl_acquire_vm_args args = {};
    args.drm_fd = render;
    args.gpu_id = gpus()[gpu].id;
    if (int r = ioctl(AMDKFD_IOC_ACQUIRE_VM, &args); r != 0)
      throw Failed("ACQUIRE_VM: " + std::to_string(r));
    render_fds_.push_back(render);
  }
}

Client::~Client() {
  while (!queues_.empty()) destroy_queue(queues_.begin()->first);
  for (int fd : render_fds_) close(fd);
  close(fd_);
}

int Client::ioctl(unsigned long request, void* args) const {
  return result(::ioctl(fd_, request, args));
}

uint64_t Client::allocate(unsigned gpu, uint64_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw Failed("mmap");
  kfd_ioctl_alloc_memory_of_gpu_args alloc = {};
  alloc.va_addr = alloc.mmap_offset = reinterpret_cast<uint64_t>(memory);
  alloc.size = bytes;
  alloc.gpu_id = gpus()[gpu].id;
  alloc.flags = KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE;
  if (int r = ioctl(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &alloc); r != 0)
    throw Failed("ALLOC_MEMORY_OF_GPU: " + std::to_string(r));
  kfd_ioctl_map_memory_to_gpu_args map = {};
  map.handle = alloc.handle;
  map.device_ids_array_ptr = reinterpret_cast<uint64_t>(&alloc.gpu_id);
  map.n_devices = 1;
  if (int r = ioctl(AMDKFD_IOC_MAP_MEMORY_TO_GPU, &map); r != 0)
    throw Failed("MAP_MEMORY_TO_GPU: " + std::to_string(r));
  return alloc.va_addr;
}

// Buffers of destroyed queues are used again, so that a long run does not fill the address space.
Client::Buffers Client::buffers(unsigned gpu) {
  auto& spare = spare_[gpu];
  if (!spare.empty()) {
    Buffers used = spare.back();
    spare.pop_back();
    return used;
  }
  Buffers b = {};
  b.ring = allocate(gpu, ring_bytes);
  b.read_index = allocate(gpu, 4096);
  b.write_index = allocate(gpu, 4096);
  b.end_of_pipe = allocate(gpu, end_of_pipe_bytes);
  uint64_t save_bytes = gpus()[gpu].save_area_bytes + gpus()[gpu].debug_bytes;
  save_bytes *= gpus()[gpu].xccs;
  b.save_area = allocate(gpu, (save_bytes + 4095) & ~uint64_t{4095});
  return b;
}

int Client::create_queue(unsigned gpu, uint32_t priority, uint32_t type) {
  Buffers b = buffers(gpu);
  kfd_ioctl_create_queue_args args = {};
  args.ring_base_address = b.ring;
  args.ring_size = ring_bytes;
  args.write_pointer_address = b.write_index;
  args.read_pointer_address = b.read_index;
  args.gpu_id = gpus()[gpu].id;
  args.queue_type = type;
  args.queue_percentage = 100;
  args.queue_priority = priority;
  if (type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL) {
    args.eop_buffer_address = b.end_of_pipe;
    args.eop_buffer_size = end_of_pipe_bytes;
    args.ctx_save_restore_address = b.save_area;
    args.ctx_save_restore_size = gpus()[gpu].save_area_bytes;
    args.ctl_stack_size = gpus()[gpu].control_stack_bytes;
  }
  int r = ioctl(AMDKFD_IOC_CREATE_QUEUE, &args);
  if (r < 0) {
    spare_[gpu].push_back(b);
    return r;
  }
  queues_[args.queue_id] = {gpu, b};
  return static_cast<int>(args.queue_id);
}

int Client::destroy_queue(uint32_t id) {
  kfd_ioctl_destroy_queue_args args = {};
  args.queue_id = id;
  int r = ioctl(AMDKFD_IOC_DESTROY_QUEUE, &args);
  if (auto it = queues_.find(id); it != queues_.end()) {
    spare_[it->second.gpu].push_back(it->second.buffers);
    queues_.erase(it);
  }
  return r;
}

int Client::update_queue(uint32_t id, uint32_t percentage, uint32_t priority) {
  kfd_ioctl_update_queue_args args = {};
  args.queue_id = id;
  args.ring_base_address = queues_.at(id).buffers.ring;
  args.ring_size = ring_bytes;
  args.queue_percentage = percentage;
  args.queue_priority = priority;
  return ioctl(AMDKFD_IOC_UPDATE_QUEUE, &args);
}

Client::Shared Client::shared(uint32_t id) const {
  const Buffers& b = queues_.at(id).buffers;
  return {reinterpret_cast<uint64_t*>(b.read_index), reinterpret_cast<uint64_t*>(b.write_index),
          reinterpret_cast<uint8_t*>(b.ring)};
}

int Client::enable_debugging() {
  kfd_ioctl_runtime_enable_args runtime = {};
  runtime.mode_mask = KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK;
  if (int r = ioctl(AMDKFD_IOC_RUNTIME_ENABLE, &runtime); r != 0)
    return r;
  int events[2];
  if (pipe2(events, O_NONBLOCK | O_CLOEXEC) != 0)
    return -errno;
  kfd_runtime_info info = {};
  kfd_ioctl_dbg_trap_args args = {};
  args.pid = getpid();
  args.op = KFD_IOC_DBG_TRAP_ENABLE;
  args.enable.rinfo_ptr = reinterpret_cast<uint64_t>(&info);
  args.enable.rinfo_size = sizeof info;
  args.enable.dbg_fd = events[1];
  return ioctl(AMDKFD_IOC_DBG_TRAP, &args);
}

int Client::suspend(uint32_t id) {
  // A queue can be suspended only after a snapshot has cleared that it is new.
  kfd_queue_snapshot_entry entries[64];
  kfd_ioctl_dbg_trap_args args = {};
  args.pid = getpid();
  args.op = KFD_IOC_DBG_TRAP_GET_QUEUE_SNAPSHOT;
  args.queue_snapshot = {KFD_EC_MASK(EC_QUEUE_NEW), reinterpret_cast<uint64_t>(entries), 64,
                         sizeof entries[0]};
  if (int r = ioctl(AMDKFD_IOC_DBG_TRAP, &args); r < 0)
    return r;
  args = {};
  args.pid = getpid();
  args.op = KFD_IOC_DBG_TRAP_SUSPEND_QUEUES;
  args.suspend_queues.queue_array_ptr = reinterpret_cast<uint64_t>(&id);
  args.suspend_queues.num_queues = 1;
  args.suspend_queues.grace_period = 0xffffffff;
  return ioctl(AMDKFD_IOC_DBG_TRAP, &args);
}

int Client::resume(uint32_t id) {
  kfd_ioctl_dbg_trap_args args = {};
  args.pid = getpid();
  args.op = KFD_IOC_DBG_TRAP_RESUME_QUEUES;
  args.resume_queues.queue_array_ptr = reinterpret_cast<uint64_t>(&id);
  args.resume_queues.num_queues = 1;
  return ioctl(AMDKFD_IOC_DBG_TRAP, &args);
}
