// What the programs of tests/hsa share: the GPU agent, memory the host and the GPU both see,
// kernels from the code object, queues and packets. A failed call ends the program with status 1.
#pragma once

#include <fcntl.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../support/program.h"

#define HSA(call) check_hsa((call), #call, __FILE__, __LINE__)
inline void check_hsa(hsa_status_t status, const char* call, const char* file, int line) {
  if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK)
    return;
  const char* text = nullptr;
  hsa_status_string(status, &text);
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, text != nullptr ? text : "unknown");
  std::exit(1);
}

struct Kernel {
  u64 object = 0;
  u32 private_size = 0, group_size = 0;
};

class Machine {
 public:
  Machine() {
    HSA(hsa_init());
    HSA(hsa_iterate_agents(
        [](hsa_agent_t agent, void* data) {
          auto* machine = static_cast<Machine*>(data);
          hsa_device_type_t type;
          HSA(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
          (type == HSA_DEVICE_TYPE_GPU ? machine->gpus : machine->cpus).push_back(agent);
          return HSA_STATUS_SUCCESS;
        },
        this));
    EXPECT(!gpus.empty() && !cpus.empty(), "%zu GPUs, %zu CPUs", gpus.size(), cpus.size());
    HSA(hsa_amd_agent_iterate_memory_pools(
        cpus[0],
        [](hsa_amd_memory_pool_t pool, void* data) {
          u32 flags = 0;
          hsa_amd_segment_t segment;
          HSA(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
          HSA(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
          if (segment != HSA_AMD_SEGMENT_GLOBAL)
            return HSA_STATUS_SUCCESS;
          auto* machine = static_cast<Machine*>(data);
          if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) != 0)
            machine->fine = pool;
          if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) != 0)
            machine->kernarg = pool;
          return HSA_STATUS_SUCCESS;
        },
        this));
  }
  ~Machine() { HSA(hsa_shut_down()); }

  // Zeroed host memory that every GPU sees.
  template <typename T>
  T* shared(size_t count) const {
    void* memory = nullptr;
    HSA(hsa_amd_memory_pool_allocate(fine, count * sizeof(T), 0, &memory));
    HSA(hsa_amd_agents_allow_access(static_cast<u32>(gpus.size()), gpus.data(), nullptr, memory));
    std::memset(memory, 0, count * sizeof(T));
    return static_cast<T*>(memory);
  }

  hsa_queue_t* queue(u32 packets = 256, hsa_queue_type_t type = HSA_QUEUE_TYPE_MULTI) const {
    hsa_queue_t* made = nullptr;
    HSA(hsa_queue_create(gpus[0], packets, type, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &made));
    return made;
  }

  hsa_signal_t signal(hsa_signal_value_t value) const {
    hsa_signal_t made;
    HSA(hsa_signal_create(value, 0, nullptr, &made));
    return made;
  }

  // A kernel of tests/hsa/kernels.hip.
  Kernel kernel(const char* name) {
    if (executable.handle == 0)
      load();
    hsa_executable_symbol_t symbol;
    const std::string full = std::string(name) + ".kd";
    HSA(hsa_executable_get_symbol_by_name(executable, full.c_str(), &gpus[0], &symbol));
    Kernel made;
    HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                       &made.object));
    HSA(hsa_executable_symbol_get_info(
        symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &made.private_size));
    HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE,
                                       &made.group_size));
    return made;
  }

  // Kernel arguments in memory the GPU reads; HIP's hidden arguments behind them are zero.
  template <typename... Arguments>
  void* arguments(Arguments... values) const {
    void* memory = nullptr;
    HSA(hsa_amd_memory_pool_allocate(kernarg, 512, 0, &memory));
    HSA(hsa_amd_agents_allow_access(1, gpus.data(), nullptr, memory));
    std::memset(memory, 0, 512);
    size_t offset = 0;
    const auto put = [&](const void* value, size_t size) {
      offset = (offset + size - 1) / size * size;
      std::memcpy(static_cast<char*>(memory) + offset, value, size);
      offset += size;
    };
    (put(&values, sizeof(values)), ...);
    return memory;
  }

  std::vector<hsa_agent_t> gpus, cpus;
  hsa_amd_memory_pool_t fine{}, kernarg{};

 private:
  void load() {
    char name[64] = {};
    HSA(hsa_agent_get_info(gpus[0], HSA_AGENT_INFO_NAME, name));
    // Not /proc/self/exe: that is the dynamic linker if the program was started through it.
    const std::string self = program_invocation_name;
    const std::string path = self.substr(0, self.rfind('/') + 1) + "kernels." + name + ".co";
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT(file >= 0, "cannot open %s", path.c_str());
    hsa_code_object_reader_t reader;
    HSA(hsa_code_object_reader_create_from_file(file, &reader));
    HSA(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                  nullptr, &executable));
    HSA(hsa_executable_load_agent_code_object(executable, gpus[0], reader, nullptr, nullptr));
    HSA(hsa_executable_freeze(executable, nullptr));
  }
  hsa_executable_t executable{};
};

constexpr u16 kSystemFences = HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                              HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
constexpr u16 kBarrierBit = 1 << HSA_PACKET_HEADER_BARRIER;

// Writes one packet at the next index; the header last, as the specification asks, then rings.
template <typename Packet>
u64 submit(hsa_queue_t* queue, Packet packet, u16 header) {
  static_assert(sizeof(Packet) == 64);
  const u64 index = hsa_queue_add_write_index_scacq_screl(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) {
  }
  auto* slot = static_cast<Packet*>(queue->base_address) + index % queue->size;
  std::memcpy(reinterpret_cast<char*>(slot) + 4, reinterpret_cast<char*>(&packet) + 4, 60);
  u32 first;
  std::memcpy(&first, &packet, 4);
  first = (first & 0xffff0000u) | header;
  __atomic_store_n(reinterpret_cast<u32*>(slot), first, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  return index;
}

struct Launch {
  u32 threads = 64, block = 64, group_size = 0;
  bool barrier = false;
  hsa_signal_t done{};
};

inline void dispatch(hsa_queue_t* queue, const Kernel& kernel, void* arguments,
                     const Launch& launch) {
  hsa_kernel_dispatch_packet_t packet{};
  packet.setup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
  packet.workgroup_size_x = static_cast<u16>(launch.block);
  packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.grid_size_x = launch.threads;
  packet.grid_size_y = packet.grid_size_z = 1;
  packet.private_segment_size = kernel.private_size;
  packet.group_segment_size = kernel.group_size + launch.group_size;
  packet.kernel_object = kernel.object;
  packet.kernarg_address = arguments;
  packet.completion_signal = launch.done;
  submit(queue, packet,
         static_cast<u16>(HSA_PACKET_TYPE_KERNEL_DISPATCH | kSystemFences |
                          (launch.barrier ? kBarrierBit : 0)));
}

inline void barrier_and(hsa_queue_t* queue, const std::vector<hsa_signal_t>& after,
                        hsa_signal_t done, bool barrier = true) {
  hsa_barrier_and_packet_t packet{};
  for (size_t i = 0; i < after.size(); i++) packet.dep_signal[i] = after[i];
  packet.completion_signal = done;
  submit(
      queue, packet,
      static_cast<u16>(HSA_PACKET_TYPE_BARRIER_AND | kSystemFences | (barrier ? kBarrierBit : 0)));
}

inline hsa_signal_value_t wait_for(hsa_signal_t signal, hsa_signal_value_t value = 0,
                                   hsa_wait_state_t how = HSA_WAIT_STATE_BLOCKED) {
  return hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, value, UINT64_MAX, how);
}
