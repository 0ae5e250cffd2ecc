#include "driver/driver_support.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace vgpu::driver {
namespace {

constexpr u64 kDoorbellBytes = 8192;
constexpr u32 kAllRights = abi::alloc_writable | abi::alloc_executable;

pid_t next_fake_pid() {
  static std::atomic<pid_t> next{5'000'000};  // above the kernel's largest pid
  return next++;
}

u64 round_up(u64 value, u64 to) { return (value + to - 1) / to * to; }

// The number that follows `name` in a topology file.
u64 property(const std::string& text, const std::string& name) {
  const auto at = ("\n" + text).find("\n" + name + " ");
  return at == std::string::npos ? 0 : std::stoull(text.substr(at + name.size() + 1));
}

}  // namespace

bool OwnMemory::read(u64 address, void* out, u64 size) {
  if (address < kPageSize) {
    return false;
  }
  std::memcpy(out, reinterpret_cast<const void*>(address), size);
  return true;
}

bool OwnMemory::write(u64 address, const void* in, u64 size) {
  if (address < kPageSize) {
    return false;
  }
  std::memcpy(reinterpret_cast<void*>(address), in, size);
  return true;
}

std::optional<FileId> OwnFiles::find(u32 fd) {
  struct stat status {};
  if (fstat(static_cast<int>(fd), &status) != 0) {
    return std::nullopt;
  }
  return FileId{status.st_dev, status.st_ino};
}

Client::Client(Driver& driver, pid_t pid)
    : driver_(driver), pid_(pid ? pid : next_fake_pid()), acquired_(64) {
  auto opened = driver_.open_kfd(pid_);
  EXPECT_TRUE(opened) << (opened ? "" : opened.error().message());
  kfd_ = std::move(*opened);
  struct stat status {};
  fstat(kfd_.get(), &status);
  file_ = {status.st_dev, status.st_ino};
  render_ = std::move(*driver_.open_render(128));
}

Client::~Client() {
  exit();
  for (const auto& [address, size] : mappings_) {
    munmap(address, size);
  }
}

void Client::exit() { driver_.process_exited(pid_); }

Caller Client::make_caller(pid_t tid) {
  Caller caller;
  caller.pid = pid_;
  caller.tid = tid ? tid : pid_;
  caller.memory = &memory_;
  caller.files = &files_;
  return caller;
}

u32 Client::gpu_id(u32 index) { return driver_.stats().gpus.at(index).gpu_id; }

void Client::acquire_vm(u32 index) {
  if (!acquired_[index]) {
    abi::AcquireVmArgs args = {.drm_fd = 3, .gpu_id = gpu_id(index)};
    EXPECT_EQ(call(abi::kfd_acquire_vm, args), 0);
    acquired_[index] = true;
  }
}

TestBuffer Client::allocate(u64 size, u32 flags, u32 index) {
  acquire_vm(index);
  TestBuffer buffer;
  buffer.size = size;
  void* reserved =
      mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  buffer.va = reinterpret_cast<u64>(reserved);
  mappings_.emplace_back(reserved, size);
  abi::AllocMemoryArgs args = {};
  args.va_addr = buffer.va;
  args.size = size;
  args.gpu_id = gpu_id(index);
  args.flags = flags | kAllRights;
  EXPECT_EQ(call(abi::kfd_alloc_memory_of_gpu, args), 0);
  buffer.handle = args.handle;
  buffer.offset = args.mmap_offset;
  mmap(reserved, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, render_.get(),
       static_cast<off_t>(args.mmap_offset));
  u32 id = gpu_id(index);
  abi::MapMemoryArgs map = {};
  map.handle = args.handle;
  map.device_ids_array_ptr = reinterpret_cast<u64>(&id);
  map.n_devices = 1;
  EXPECT_EQ(call(abi::kfd_map_memory_to_gpu, map), 0);
  return buffer;
}

void Client::free(const TestBuffer& buffer, u32 index) {
  u32 id = gpu_id(index);
  abi::MapMemoryArgs unmap = {};
  unmap.handle = buffer.handle;
  unmap.device_ids_array_ptr = reinterpret_cast<u64>(&id);
  unmap.n_devices = 1;
  EXPECT_EQ(call(abi::kfd_unmap_memory_from_gpu, unmap), 0);
  abi::FreeMemoryArgs args = {buffer.handle};
  EXPECT_EQ(call(abi::kfd_free_memory_of_gpu, args), 0);
}

abi::CreateQueueArgs Client::queue_args(TestQueue& queue, u32 type, u32 index) {
  const std::string text = *driver_.read_file("/sys/class/kfd/kfd/topology/nodes/" +
                                              std::to_string(index + 1) + "/properties");
  const u64 cus = property(text, "simd_count") / property(text, "simd_per_cu");
  const bool compute = type == abi::queue_type_compute || type == abi::queue_type_compute_aql;
  queue.ring = allocate(4096, abi::alloc_gtt, index);
  queue.pointers = allocate(4096, abi::alloc_gtt, index);
  abi::CreateQueueArgs args = {};
  args.ring_base_address = queue.ring.va;
  args.ring_size = static_cast<u32>(queue.ring.size);
  args.write_pointer_address = queue.pointers.va + 0x38;
  args.read_pointer_address = queue.pointers.va + 0x80;
  args.gpu_id = gpu_id(index);
  args.queue_type = type;
  args.queue_percentage = 100;
  args.queue_priority = 7;
  if (compute) {
    args.eop_buffer_size = 4096;
    queue.eop = allocate(4096, abi::alloc_vram, index);
    args.eop_buffer_address = queue.eop.va;
    // A 6.1 kernel does not tell; there any size will do.
    args.ctl_stack_size = static_cast<u32>(property(text, "ctl_stack_size"));
    args.ctx_save_restore_size = static_cast<u32>(property(text, "cwsr_size"));
    if (args.ctl_stack_size == 0) {
      args.ctl_stack_size = 0x1000;
      args.ctx_save_restore_size = 0x1000 + static_cast<u32>(cus) * 0x95000;
    }
    const u64 waves = std::min<u64>(cus * 40, property(text, "array_count") * 512);
    const u64 debug_bytes = round_up(waves * 32, 64);
    queue.save_area =
        allocate(round_up(args.ctx_save_restore_size + debug_bytes, 4096), abi::alloc_gtt, index);
    args.ctx_save_restore_address = queue.save_area.va;
  }
  return args;
}

TestQueue Client::create_queue(u32 type, u32 priority, u32 index) {
  TestQueue queue;
  queue.args = queue_args(queue, type, index);
  queue.args.queue_priority = priority;
  EXPECT_EQ(call(abi::kfd_create_queue, queue.args), 0);
  queue.id = queue.args.queue_id;
  queue.doorbell_offset = queue.args.doorbell_offset;
  const u64 page = queue.doorbell_offset & ~(kDoorbellBytes - 1);
  void* doorbells = mmap(nullptr, kDoorbellBytes, PROT_READ | PROT_WRITE, MAP_SHARED, kfd_.get(),
                         static_cast<off_t>(page));
  EXPECT_NE(doorbells, MAP_FAILED);
  mappings_.emplace_back(doorbells, kDoorbellBytes);
  queue.doorbell = static_cast<std::atomic<u64>*>(doorbells) +
                   (queue.doorbell_offset % kDoorbellBytes) / sizeof(u64);
  return queue;
}

int Client::destroy_queue(u32 id) {
  abi::DestroyQueueArgs args = {id, 0};
  return call(abi::kfd_destroy_queue, args);
}

int Client::update_queue(const TestQueue& queue, u32 percentage, u32 priority) {
  abi::UpdateQueueArgs args = {};
  args.ring_base_address = queue.args.ring_base_address;
  args.ring_size = queue.args.ring_size;
  args.queue_id = queue.id;
  args.queue_percentage = percentage;
  args.queue_priority = priority;
  return call(abi::kfd_update_queue, args);
}

u32 Client::create_event(u32 type, bool auto_reset) {
  abi::CreateEventArgs args = {};
  args.event_type = type;
  args.auto_reset = auto_reset;
  EXPECT_EQ(call(abi::kfd_create_event, args), 0);
  return args.event_id;
}

DriverConfig DriverTest::small() {
  DriverConfig config;
  config.gpu.cus = 2;
  config.gpu.hqds = 8;
  config.gpu.workers = 1;
  config.vram_bytes = u64{64} << 20;
  return config;
}

void DriverTest::start(DriverConfig config) {
  driver.reset();
  config.tree = tree;
  auto created = Driver::create(std::move(config));
  ASSERT_TRUE(created) << created.error().message();
  driver = std::move(*created);
}

void DriverTest::TearDown() { driver.reset(); }

std::string DriverTest::state_of(pid_t pid, u32 queue_id) {
  for (const QueueInfo& queue : driver->stats().queues) {
    if (queue.pid == pid && queue.queue_id == queue_id) {
      return queue.state;
    }
  }
  return "none";
}

std::string DriverTest::read(const std::string& path) {
  auto text = driver->read_file(path);
  return text ? *text : "error: " + text.error().message();
}

}  // namespace vgpu::driver
