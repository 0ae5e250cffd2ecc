// A driver small enough for tests of the device: processes with memory and doorbells, queues with
// packets, kernels assembled from text.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "abi/aql.h"
#include "device/gpu.h"
#include "support/eventually.h"

namespace vgpu::device::test {
namespace abi = gp::abi;  // not the one of <cxxabi.h>

constexpr u64 kSecond = 1'000'000'000;

using gp::eventually;

class RecordingHost : public Host {
 public:
  void signal_event(u32 pasid, u32 event_id) override;
  void memory_fault(u32 pasid, const MemoryFault& fault) override;
  void queue_error(Mqd& queue, QueueError error, u64 error_code) override;

  struct FaultRecord {
    u32 pasid;
    MemoryFault fault;
  };
  struct ErrorRecord {
    Mqd* queue;
    QueueError error;
    u64 code;
  };
  std::vector<std::pair<u32, u32>> events() const;
  std::vector<FaultRecord> faults() const;
  std::vector<ErrorRecord> errors() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<u32, u32>> events_;
  std::vector<FaultRecord> faults_;
  std::vector<ErrorRecord> errors_;
};

// Memory that host and GPU both see.
template <class T>
struct Buffer {
  u64 va = 0;
  T* host = nullptr;
  u64 count = 0;
  T& operator[](u64 i) const { return host[i]; }
};

struct KernelOptions {
  u32 vgprs = 8;
  u32 sgprs = 32;
  u32 accum_offset = 0;  // 0: no accumulation registers
  bool private_segment = false;
  int work_item_ids = 0;  // 0: x, 1: x y, 2: x y z
};
// The SGPRs at launch are: s[0:1] dispatch_ptr, s[2:3] kernarg, s4 s5 s6 work-group id x y z. With
// private_segment: s[0:3] buffer, s[4:5] dispatch_ptr, s[6:7] kernarg, s[8:9] flat_scratch_init,
// s10 s11 s12 work-group id, s13 scratch wave offset.
struct KernelCode {
  std::vector<u8> image;  // kernel descriptor, then code at 256
};
KernelCode assemble(const std::string& text, const KernelOptions& options = {},
                    isa::Arch arch = isa::Arch::gfx90a);

// A process: page table, memory, doorbells.
class Process {
 public:
  Process(u32 pasid, isa::Arch arch, DoorbellWatch& watch, u64 bytes = 64 << 20);
  ~Process();

  u64 allocate(u64 bytes, u64 alignment = 4096);
  u8* host(u64 va) { return memory_ + (va - kBase); }
  template <class T>
  Buffer<T> buffer(u64 count) {
    const u64 va = allocate(count * sizeof(T));
    return {va, reinterpret_cast<T*>(host(va)), count};
  }
  u64 load(const KernelCode& kernel);  // VA of the descriptor
  u64 signal(i64 value, u32 event_id = 0);
  i64 signal_value(u64 signal);
  const abi::AmdSignal& signal_at(u64 va) { return *reinterpret_cast<abi::AmdSignal*>(host(va)); }
  Doorbell next_doorbell();

  static constexpr u64 kBase = u64{1} << 32;
  std::shared_ptr<Vmid> vmid;
  std::shared_ptr<DoorbellPage> doorbells;

 private:
  DoorbellWatch& watch_;
  u64 bytes_;
  u8* memory_;
  u64 next_ = 0;
  u32 next_slot_ = 0;
  std::vector<std::atomic<u64>> slots_;
};

struct QueueOptions {
  u32 packets = 256;
  u32 priority = 7;
  u32 save_area = 0x1000 + 8 * (0x80000 + 0x4000 + 0x10000 + 0x1000);  // 8 CUs; 0: none
  std::vector<u32> cu_mask;
};

struct Dispatch {
  u64 kernel = 0;
  u64 kernarg = 0;
  u32 grid[3] = {64, 1, 1};
  u16 group[3] = {64, 1, 1};
  u32 lds = 0;
  u32 scratch = 0;
  u64 signal = 0;
  bool barrier = false;
};

class AqlQueue {
 public:
  AqlQueue(Process& process, const QueueOptions& options = {});
  // Writes the packet at the write index; ring() tells the device.
  u64 push(const Dispatch& dispatch);
  u64 push_barrier(std::vector<u64> dependencies, u64 signal, bool barrier = false,
                   abi::PacketType type = abi::packet_barrier_and);
  u64 push_raw(const abi::AqlPacket& packet);
  void ring();
  void submit(const Dispatch& dispatch) {
    push(dispatch);
    ring();
  }
  u64 read_index() const;
  abi::AmdQueue& amd() { return *amd_; }
  u64 inactive_value() {
    return static_cast<u64>(process_.signal_value(amd_->queue_inactive_signal));
  }

  Process& process_;
  MqdPtr mqd;

 private:
  abi::AmdQueue* amd_;
  abi::AqlPacket* ring_;
  u32 packets_;
};

class SdmaQueue {
 public:
  explicit SdmaQueue(Process& process, u32 bytes = 4096);
  void push(const std::vector<u32>& dwords);
  void ring();
  u64 read_pointer() const;
  MqdPtr mqd;

 private:
  Buffer<u32> ring_;
  Buffer<u64> pointers_;  // read, write
  u64 written_ = 0;
};

// One GPU with everything around it.
class DeviceTest : public ::testing::Test {
 protected:
  GpuConfig config;
  RecordingHost host;
  DoorbellWatch watch;
  std::unique_ptr<Gpu> gpu;

  void TearDown() override;
  void start();  // makes the Gpu from config
  // Lives until the device is gone, as the driver sees to it.
  std::shared_ptr<Process> process(u32 pasid = 1);
  void run(const std::vector<MqdPtr>& queues);  // unmap, then a run list of them
  void unmap();
  bool done(Process& process, u64 signal);  // eventually 0

 private:
  std::vector<std::shared_ptr<Process>> processes_;
};

}  // namespace vgpu::device::test
