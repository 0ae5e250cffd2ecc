#include "device/device_support.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

namespace vgpu::device::test {

// ---- host ----

void RecordingHost::signal_event(u32 pasid, u32 event_id) {
  std::lock_guard lock(mutex_);
  events_.emplace_back(pasid, event_id);
}
void RecordingHost::memory_fault(u32 pasid, const MemoryFault& fault) {
  std::lock_guard lock(mutex_);
  faults_.push_back({pasid, fault});
}
void RecordingHost::queue_error(Mqd& queue, QueueError error, u64 error_code) {
  std::lock_guard lock(mutex_);
  errors_.push_back({&queue, error, error_code});
}
std::vector<std::pair<u32, u32>> RecordingHost::events() const {
  std::lock_guard lock(mutex_);
  return events_;
}
std::vector<RecordingHost::FaultRecord> RecordingHost::faults() const {
  std::lock_guard lock(mutex_);
  return faults_;
}
std::vector<RecordingHost::ErrorRecord> RecordingHost::errors() const {
  std::lock_guard lock(mutex_);
  return errors_;
}

// ---- kernels ----

namespace {

constexpr u64 kCodeOffset = 256;

// The .text of what llvm-mc makes of the source.
std::vector<u8> machine_code(const std::string& text, const char* cpu) {
  const std::string base = ::testing::TempDir() + "device_test_" + std::to_string(getpid());
  std::ofstream(base + ".s") << text;
  const std::string command = "llvm-mc-15 -triple=amdgcn-amd-amdhsa -mcpu=" + std::string(cpu) +
                              " -filetype=obj " + base + ".s -o " + base + ".o";
  if (std::system(command.c_str()) != 0) {
    ADD_FAILURE() << "llvm-mc-15 failed on:\n" << text;
    return {};
  }
  std::ifstream in(base + ".o", std::ios::binary);
  const std::vector<char> object((std::istreambuf_iterator<char>(in)), {});
  std::remove((base + ".s").c_str());
  std::remove((base + ".o").c_str());
  const auto* elf = reinterpret_cast<const Elf64_Ehdr*>(object.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(object.data() + elf->e_shoff);
  const char* names = object.data() + sections[elf->e_shstrndx].sh_offset;
  for (int i = 0; i < elf->e_shnum; ++i) {
    if (std::strcmp(names + sections[i].sh_name, ".text") == 0) {
      const char* begin = object.data() + sections[i].sh_offset;
      return {begin, begin + sections[i].sh_size};
    }
  }
  return {};
}

}  // namespace

KernelCode assemble(const std::string& text, const KernelOptions& options, isa::Arch arch) {
  const bool unified = arch == isa::Arch::gfx90a;
  // Assembling is slow; tests use the same few kernels again and again.
  static std::map<std::pair<std::string, bool>, std::vector<u8>> cache;
  std::vector<u8>& code = cache[{text, unified}];
  if (code.empty()) {
    code = machine_code(text, unified ? "gfx90a" : "gfx906");
  }
  abi::KernelDescriptor descriptor{};
  descriptor.code_entry_offset = kCodeOffset;
  const u32 granule = unified ? 8 : 4;
  descriptor.rsrc1 = ((options.vgprs + granule - 1) / granule - 1) |
                     ((options.sgprs + 15) / 16 * 2 - 2) << 6 | 0xfu << 16 | 1u << 21 | 1u << 23;
  const u32 user_sgprs = options.private_segment ? 10 : 4;
  descriptor.rsrc2 = u32{options.private_segment} | user_sgprs << 1 | 7u << 7 |
                     static_cast<u32>(options.work_item_ids) << 11;
  const u32 accum = options.accum_offset ? options.accum_offset
                                         : (options.vgprs + granule - 1) / granule * granule;
  descriptor.rsrc3 = unified ? accum / 4 - 1 : 0;
  descriptor.properties = abi::sgpr_dispatch_ptr | abi::sgpr_kernarg_ptr;
  if (options.private_segment) {
    descriptor.properties |= abi::sgpr_private_segment_buffer | abi::sgpr_flat_scratch_init;
  }
  KernelCode kernel;
  kernel.image.resize(kCodeOffset + code.size());
  std::memcpy(kernel.image.data(), &descriptor, sizeof(descriptor));
  std::memcpy(kernel.image.data() + kCodeOffset, code.data(), code.size());
  return kernel;
}

// ---- process ----

Process::Process(u32 pasid, isa::Arch arch, DoorbellWatch& watch, u64 bytes)
    : vmid(std::make_shared<Vmid>(pasid, arch, *isa::host_engine())),
      watch_(watch),
      bytes_(bytes),
      slots_(512) {
  memory_ = static_cast<u8*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  vmid->memory.map(kBase, bytes_, memory_, page_write | page_exec);
  for (auto& slot : slots_) {
    slot.store(~u64{0}, std::memory_order_relaxed);
  }
  doorbells = std::make_shared<DoorbellPage>(slots_.data(), slots_.size() * sizeof(u64));
  watch_.add(doorbells);
}

Process::~Process() {
  watch_.remove(*doorbells);
  munmap(memory_, bytes_);
}

u64 Process::allocate(u64 bytes, u64 alignment) {
  next_ = (next_ + alignment - 1) / alignment * alignment;
  const u64 va = kBase + next_;
  next_ += bytes;
  if (next_ > bytes_) {
    ADD_FAILURE() << "the test process is out of memory";
  }
  return va;
}

u64 Process::load(const KernelCode& kernel) {
  // On pages of its own, and with one behind it: the device decodes whole pages of code and one
  // word of the next, while the test goes on writing to its memory.
  const u64 pages = (kernel.image.size() + kPageSize - 1) / kPageSize + 1;
  const u64 va = allocate(pages * kPageSize, kPageSize);
  std::memcpy(host(va), kernel.image.data(), kernel.image.size());
  vmid->code.invalidate();
  return va;
}

u64 Process::signal(i64 value, u32 event_id) {
  const u64 va = allocate(sizeof(abi::AmdSignal), 64);
  auto& signal = *reinterpret_cast<abi::AmdSignal*>(host(va));
  signal = {};
  signal.kind = 1;
  signal.value = value;
  if (event_id != 0) {
    signal.event_id = event_id;
    signal.event_mailbox_ptr = allocate(8, 8);
  }
  return va;
}

i64 Process::signal_value(u64 signal) {
  return __atomic_load_n(&reinterpret_cast<abi::AmdSignal*>(host(signal))->value, __ATOMIC_ACQUIRE);
}

Doorbell Process::next_doorbell() { return {doorbells, next_slot_++}; }

// ---- AQL queue ----

AqlQueue::AqlQueue(Process& process, const QueueOptions& options)
    : process_(process), packets_(options.packets) {
  const auto ring = process.buffer<abi::AqlPacket>(packets_);
  ring_ = ring.host;
  for (u32 i = 0; i < packets_; ++i) {
    ring_[i].word.header = abi::packet_invalid;
  }
  const auto amd = process.buffer<abi::AmdQueue>(1);
  amd_ = amd.host;
  *amd_ = {};
  amd_->queue_inactive_signal = process.signal(0);
  QueueProperties properties;
  properties.type = QueueType::compute_aql;
  properties.ring_base = ring.va;
  properties.ring_size = packets_ * abi::kPacketSize;
  properties.rptr_addr = amd.va + offsetof(abi::AmdQueue, read_dispatch_id);
  properties.wptr_addr = amd.va + offsetof(abi::AmdQueue, write_dispatch_id);
  properties.priority = options.priority;
  properties.cu_mask = options.cu_mask;
  if (options.save_area != 0) {
    properties.save_area = process.allocate(options.save_area);
    properties.save_area_size = options.save_area;
    properties.ctl_stack_size = 0x1000;
  }
  mqd = std::make_shared<Mqd>(process.vmid, properties, process.next_doorbell());
}

u64 AqlQueue::push_raw(const abi::AqlPacket& packet) {
  const u64 index = amd_->write_dispatch_id;
  if (index - read_index() >= packets_) {
    ADD_FAILURE() << "the ring is full";
  }
  __atomic_store_n(&amd_->write_dispatch_id, index + 1, __ATOMIC_RELEASE);
  abi::AqlPacket& slot = ring_[index % packets_];
  std::memcpy(reinterpret_cast<u8*>(&slot) + 4, reinterpret_cast<const u8*>(&packet) + 4,
              sizeof(packet) - 4);
  slot.word.second = packet.word.second;
  __atomic_store_n(&slot.word.header, packet.word.header, __ATOMIC_RELEASE);
  return index;
}

u64 AqlQueue::push(const Dispatch& dispatch) {
  abi::AqlPacket packet{};
  packet.dispatch.header =
      abi::packet_kernel_dispatch | (dispatch.barrier ? abi::kHeaderBarrierBit : 0);
  packet.dispatch.setup = 3;
  for (int axis = 0; axis < 3; ++axis) {
    packet.dispatch.workgroup_size[axis] = dispatch.group[axis];
    packet.dispatch.grid_size[axis] = dispatch.grid[axis];
  }
  packet.dispatch.private_segment_size = dispatch.scratch;
  packet.dispatch.group_segment_size = dispatch.lds;
  packet.dispatch.kernel_object = dispatch.kernel;
  packet.dispatch.kernarg_address = dispatch.kernarg;
  packet.dispatch.completion_signal = dispatch.signal;
  return push_raw(packet);
}

u64 AqlQueue::push_barrier(std::vector<u64> dependencies, u64 signal, bool barrier,
                           abi::PacketType type) {
  abi::AqlPacket packet{};
  packet.barrier.header = static_cast<u16>(type | (barrier ? abi::kHeaderBarrierBit : 0));
  for (size_t i = 0; i < dependencies.size(); ++i) {
    packet.barrier.dep_signal[i] = dependencies[i];
  }
  packet.barrier.completion_signal = signal;
  return push_raw(packet);
}

void AqlQueue::ring() {
  mqd->doorbell.page->slot(mqd->doorbell.slot)
      .store(amd_->write_dispatch_id - 1, std::memory_order_release);
}

u64 AqlQueue::read_index() const {
  return __atomic_load_n(&amd_->read_dispatch_id, __ATOMIC_ACQUIRE);
}

// ---- SDMA queue ----

SdmaQueue::SdmaQueue(Process& process, u32 bytes)
    : ring_(process.buffer<u32>(bytes / 4)), pointers_(process.buffer<u64>(2)) {
  QueueProperties properties;
  properties.type = QueueType::sdma;
  properties.ring_base = ring_.va;
  properties.ring_size = bytes;
  properties.rptr_addr = pointers_.va;
  properties.wptr_addr = pointers_.va + 8;
  properties.priority = 15;
  mqd = std::make_shared<Mqd>(process.vmid, properties, process.next_doorbell());
}

void SdmaQueue::push(const std::vector<u32>& dwords) {
  for (const u32 dword : dwords) {
    __atomic_store_n(&ring_[written_ / 4 % ring_.count], dword, __ATOMIC_RELEASE);
    written_ += 4;
  }
}

void SdmaQueue::ring() {
  __atomic_store_n(&pointers_[1], written_, __ATOMIC_RELEASE);
  mqd->doorbell.page->slot(mqd->doorbell.slot).store(written_, std::memory_order_release);
}

u64 SdmaQueue::read_pointer() const { return __atomic_load_n(&pointers_[0], __ATOMIC_ACQUIRE); }

// ---- fixture ----

void DeviceTest::start() { gpu = std::make_unique<Gpu>(config, *isa::host_engine(), watch, host); }

void DeviceTest::TearDown() {
  if (gpu) {
    gpu->unmap_queues(10 * kSecond);
  }
  gpu.reset();
  processes_.clear();
}

std::shared_ptr<Process> DeviceTest::process(u32 pasid) {
  processes_.push_back(std::make_shared<Process>(pasid, config.arch, watch));
  return processes_.back();
}

void DeviceTest::run(const std::vector<MqdPtr>& queues) {
  ASSERT_TRUE(gpu->unmap_queues(20 * kSecond));
  RunList list;
  for (const MqdPtr& mqd : queues) {
    if (list.empty() || list.back().vmid != mqd->vmid) {
      list.push_back({mqd->vmid, {}});
    }
    list.back().queues.push_back(mqd);
  }
  gpu->run_list(std::move(list));
}

void DeviceTest::unmap() { ASSERT_TRUE(gpu->unmap_queues(20 * kSecond)); }

bool DeviceTest::done(Process& process, u64 signal) {
  return eventually([&] { return process.signal_value(signal) == 0; });
}

}  // namespace vgpu::device::test
