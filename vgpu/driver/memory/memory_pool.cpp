#include "driver/memory/memory_pool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace vgpu::driver {
namespace {

// Offset 0 is never handed out: an mmap_offset of 0 means "not mappable" to the thunk.
constexpr u64 kFirstOffset = kChunkSize;
// Room per region, as a multiple of the memory it stands for.
constexpr u64 kVirtualFactor = 2;
constexpr u64 kMinimumRegion = u64{16} << 30;

constexpr u64 round_up(u64 value, u64 to) { return (value + to - 1) / to * to; }

// KFD lets processes pin 15/16 of the machine's memory (amdgpu_amdkfd_gpuvm_init_mem_limits).
u64 system_memory_limit() {
  const u64 total = static_cast<u64>(sysconf(_SC_PHYS_PAGES)) * kPageSize;
  return total - total / 16;
}

}  // namespace

Buffer::~Buffer() {
  if (pool) {
    pool->release(*this);
  }
}

Result<std::unique_ptr<MemoryPool>> MemoryPool::create(u32 gpus, u64 vram_bytes) {
  std::unique_ptr<MemoryPool> pool(new MemoryPool);
  u64 next = kFirstOffset;
  const auto add_region = [&](u64 capacity) {
    const u64 room = round_up(std::max(capacity * kVirtualFactor, kMinimumRegion), kChunkSize);
    pool->regions_.push_back({capacity, 0, RangeAllocator(next, next + room)});
    next += room;
  };
  add_region(system_memory_limit());
  for (u32 i = 0; i < gpus; ++i) {
    add_region(vram_bytes);
  }
  pool->bytes_ = next;

  // Sealed: a client that holds the file cannot shrink it under the server.
  pool->file_.reset(memfd_create("vgpu-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!pool->file_ || ftruncate(pool->file_.get(), static_cast<off_t>(next)) != 0 ||
      fcntl(pool->file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return Error{errno, "create the file that holds the GPU's memory", ""};
  }
  void* base =
      mmap(nullptr, next, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, pool->file_.get(), 0);
  if (base == MAP_FAILED) {
    return Error{errno, "map the GPU's memory", "a smaller --vram or fewer --gpus needs less"};
  }
  pool->base_ = static_cast<u8*>(base);
  return pool;
}

MemoryPool::~MemoryPool() {
  if (base_) {
    munmap(base_, bytes_);
  }
}

bool MemoryPool::contains(int fd) const {
  struct stat ours {
  }, theirs{};
  return fstat(file_.get(), &ours) == 0 && fstat(fd, &theirs) == 0 &&
         ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

BufferPtr MemoryPool::allocate(int region, u64 size) {
  if (size == 0 || size > bytes_) {
    return nullptr;
  }
  size = round_up(size, kPageSize);
  const std::lock_guard lock(mutex_);
  Region& from = at(region);
  if ((vram_full_ && region != kSystem) || size > from.capacity - from.used) {
    return nullptr;
  }
  const auto offset = from.ranges.allocate(size, size >= kChunkSize ? kChunkSize : kPageSize);
  if (!offset) {
    return nullptr;
  }
  from.used += size;
  auto buffer = std::make_shared<Buffer>();
  buffer->host = base_ + *offset;
  buffer->size = size;
  buffer->offset = *offset;
  buffer->pool = this;
  buffer->region = region;
  return buffer;
}

BufferPtr MemoryPool::adopt(int fd, u64 file_offset, u64 size) {
  size = round_up(size, kPageSize);
  struct stat status {};
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &status) != 0 ||
      size > static_cast<u64>(status.st_size) ||
      file_offset > static_cast<u64>(status.st_size) - size) {
    errno = EINVAL;
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  Region& from = at(kSystem);
  if (size > from.capacity - from.used) {
    errno = ENOMEM;
    return nullptr;
  }
  void* host = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
                    static_cast<off_t>(file_offset));
  if (host == MAP_FAILED) {
    return nullptr;
  }
  from.used += size;
  auto buffer = std::make_shared<Buffer>();
  buffer->host = static_cast<u8*>(host);
  buffer->size = size;
  buffer->offset = file_offset;
  buffer->pool = this;
  buffer->region = kSystem;
  buffer->adopted = true;
  return buffer;
}

void MemoryPool::release(const Buffer& buffer) {
  if (buffer.adopted) {
    munmap(buffer.host, buffer.size);
    const std::lock_guard lock(mutex_);
    at(kSystem).used -= buffer.size;
    return;
  }
  // The pages go first: whoever gets the range next must find zeroes.
  if (fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                static_cast<off_t>(buffer.offset), static_cast<off_t>(buffer.size)) != 0) {
    log_error("give back {} bytes of GPU memory: {}", buffer.size, std::strerror(errno));
  }
  const std::lock_guard lock(mutex_);
  Region& from = at(buffer.region);
  from.ranges.release(buffer.offset, buffer.size);
  from.used -= buffer.size;
}

u64 MemoryPool::capacity(int region) const { return at(region).capacity; }

u64 MemoryPool::used(int region) const {
  const std::lock_guard lock(mutex_);
  return at(region).used;
}

void MemoryPool::set_vram_full(bool full) {
  const std::lock_guard lock(mutex_);
  vram_full_ = full;
}

}  // namespace vgpu::driver
