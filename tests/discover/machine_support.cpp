#include "discover/machine_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "abi/mqd.h"

namespace gp::discover {
namespace {

constexpr u32 kPipes = 4, kFirstQueue = 2, kQueuesPerPipe = 8;
constexpr u64 kXccStride = 0x3000;
constexpr u32 kStackSize = 0x2000;

u32 low(u64 value) { return static_cast<u32>(value); }
u32 high(u64 value) { return static_cast<u32>(value >> 32); }

void hex_dump(std::string& text, const char* prefix, const std::vector<u32>& dwords) {
  for (std::size_t i = 0; i < dwords.size(); ++i) {
    if (i % 8 == 0) {
      text += fmt::format("{}{:08x}: ", prefix, i * 4);
    }
    text += fmt::format("{:08x}{}", dwords[i], i % 8 == 7 || i + 1 == dwords.size() ? '\n' : ' ');
  }
}

void register_dump(std::string& text, u32 address, const std::vector<u32>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += i % 8 == 0
                ? fmt::format("{}    {:08x}: {:08x}", i ? "\n" : "", address + i * 4, values[i])
                : fmt::format(" {:08x}", values[i]);
  }
  text += '\n';
}

struct Placed {
  const MadeProcess* process;
  const MadeQueue* queue;
};

std::vector<u32> compute_mqd(const MadeMachine& machine, const Placed& placed, u32 xcc) {
  const MadeQueue& queue = *placed.queue;
  std::vector<u32> mqd(abi::kComputeMqdDwords);
  const u64 address = machine.mqd_address(*placed.process, queue) + xcc * kXccStride;
  mqd[abi::mqd_header] = 0xc0310800;
  mqd[abi::mqd_base_addr_lo] = low(address);
  mqd[abi::mqd_base_addr_hi] = high(address);
  mqd[abi::mqd_hqd_active] = 1;
  mqd[abi::mqd_hqd_pipe_priority] = queue.priority >= 11 ? 2 : queue.priority >= 7 ? 1 : 0;
  mqd[abi::mqd_hqd_queue_priority] = queue.priority;
  mqd[abi::mqd_hqd_pq_base_lo] = low(queue.ring_base >> 8);
  mqd[abi::mqd_hqd_pq_base_hi] = high(queue.ring_base >> 8);
  mqd[abi::mqd_hqd_pq_doorbell_control] = machine.doorbell(*placed.process, queue) << 2;
  mqd[abi::mqd_hqd_pq_control] =
      0x14014500 | static_cast<u32>(std::bit_width(queue.ring_bytes / 4) - 2);
  mqd[abi::mqd_hqd_cntl_stack_size] = kStackSize;
  mqd[abi::mqd_hqd_wg_state_offset] = kStackSize + queue.saved_bytes;
  mqd[226] = machine.xccs > 1 ? kXccStride : 0;
  return mqd;
}

std::vector<u32> sdma_mqd(const MadeMachine& machine, const Placed& placed) {
  const MadeQueue& queue = *placed.queue;
  std::vector<u32> mqd(abi::kSdmaMqdDwords);
  mqd[abi::sdma_mqd_rb_cntl] = static_cast<u32>(std::bit_width(queue.ring_bytes / 4) - 1) << 1;
  mqd[abi::sdma_mqd_rb_base] = low(queue.ring_base >> 8);
  mqd[abi::sdma_mqd_rb_base_hi] = high(queue.ring_base >> 8);
  mqd[abi::sdma_mqd_doorbell_offset] = machine.doorbell(*placed.process, queue) << 2;
  return mqd;
}

std::vector<Placed> queues_on(const MadeMachine& machine, u32 gpu, bool compute) {
  std::vector<Placed> result;
  for (const MadeProcess& process : machine.processes) {
    for (const MadeQueue& queue : process.queues) {
      if (queue.gpu == gpu && (queue.type == QueueType::compute) == compute) {
        result.push_back({&process, &queue});
      }
    }
  }
  return result;
}

std::vector<Placed> only_mapped(std::vector<Placed> queues) {
  std::erase_if(queues, [](const Placed& placed) { return !placed.queue->mapped; });
  return queues;
}

void dump_compute_slot(std::string& text, const MadeMachine& machine, u32 xcc, u32 slot,
                       const std::vector<Placed>& mapped) {
  const u32 base = abi::kHqdFirstAddress + (xcc % 2) * 0xc0000 + (xcc / 2) * 0x100000;
  std::vector<u32> registers(abi::kHqdRegisters);
  if (slot < mapped.size()) {
    const std::vector<u32> mqd = compute_mqd(machine, mapped[slot], xcc);
    std::copy_n(mqd.begin() + abi::mqd_base_addr_lo, registers.size(), registers.begin());
    registers[abi::mqd_hqd_pq_rptr - abi::mqd_base_addr_lo] = mapped[slot].queue->read_index;
    registers[abi::mqd_hqd_pq_wptr_lo - abi::mqd_base_addr_lo] = mapped[slot].queue->write_index;
  }
  const u32 per_pipe = kQueuesPerPipe - kFirstQueue;
  text += fmt::format(" Inst {},  CP Pipe {}, Queue {}\n", xcc, slot / per_pipe,
                      kFirstQueue + slot % per_pipe);
  register_dump(text, base, registers);
}

void dump_sdma(std::string& text, const MadeMachine& machine, const std::vector<Placed>& mapped) {
  for (u32 slot = 0; slot < machine.sdma_engines * machine.sdma_queues_per_engine; ++slot) {
    std::vector<u32> mqd(abi::kSdmaMqdDwords);
    if (slot < mapped.size()) {
      mqd = sdma_mqd(machine, mapped[slot]);
      mqd[abi::sdma_mqd_rb_cntl] |= 1;
    }
    const u32 base = 0x4e40 + slot * 0x160;
    text += fmt::format("  SDMA Engine {}, RLC {}\n", slot / machine.sdma_queues_per_engine,
                        slot % machine.sdma_queues_per_engine);
    register_dump(text, base, {mqd.begin(), mqd.begin() + 19});
    register_dump(text, base + 0xa0, {mqd.begin() + 19, mqd.begin() + 25});
    register_dump(text, base + 0xbc, std::vector<u32>(7));
    register_dump(text, base + 0x100, std::vector<u32>(12));
  }
}

void add_topology(Recording& recording, const MadeMachine& machine) {
  const std::string nodes = "/sys/class/kfd/kfd/topology/nodes";
  recording.add_file(nodes + "/0/gpu_id", "0\n");
  recording.add_file(nodes + "/0/properties", "cpu_cores_count 8\nsimd_count 0\n");
  for (u32 gpu = 0; gpu < machine.gpus; ++gpu) {
    const std::string node = fmt::format("{}/{}", nodes, gpu + 1);
    recording.add_file(node + "/gpu_id", fmt::format("{}\n", machine.gpu_id(gpu)));
    recording.add_file(node + "/name", "ip discovery\n");
    recording.add_file(
        node + "/properties",
        fmt::format("cpu_cores_count 0\nsimd_count {}\nsimd_per_cu 4\ngfx_target_version {}\n"
                    "location_id {}\ndomain {}\ndrm_render_minor {}\nnum_sdma_engines {}\n"
                    "num_sdma_xgmi_engines 0\nnum_sdma_queues_per_engine {}\nnum_cp_queues 24\n"
                    "cwsr_size 12214272\nctl_stack_size 8192\ncapability 3221225472\n"
                    "num_xcc {}\nmax_engine_clk_ccompute 2400\n",
                    80 * machine.xccs, machine.gfx_target_version, (gpu + 1) << 8, 1, 128 + gpu,
                    machine.sdma_engines, machine.sdma_queues_per_engine, machine.xccs));
  }
}

void add_queue(Recording& recording, const MadeMachine& machine, const std::string& directory,
               const MadeQueue& queue) {
  const std::string base = fmt::format("{}/queues/{}", directory, queue.queue_id);
  const char* type = queue.type == QueueType::compute ? "0"
                     : queue.type == QueueType::sdma  ? "1"
                                                      : "4";
  recording.add_file(base + "/gpuid", std::to_string(machine.gpu_id(queue.gpu)));
  recording.add_file(base + "/size", std::to_string(queue.ring_bytes));
  recording.add_file(base + "/type", type);
  recording.statuses[base] = {Os::FileStatus{.mode = 0755,
                                             .uid = 0,
                                             .gid = 0,
                                             .device = 22,
                                             .inode = queue.created,
                                             .is_sysfs = queue.created != 0},
                              0};
}

void add_process(Recording& recording, const MadeMachine& machine, const MadeProcess& process) {
  const std::string directory = fmt::format("/sys/class/kfd/kfd/proc/{}", process.pid);
  recording.add_directory(directory + "/queues");
  recording.add_file(directory + "/pasid", "32769\n");
  for (u32 gpu = 0; gpu < machine.gpus; ++gpu) {
    const u32 id = machine.gpu_id(gpu);
    recording.add_file(fmt::format("{}/vram_{}", directory, id), "4096\n");
    recording.add_file(fmt::format("{}/stats_{}/evicted_ms", directory, id), "12\n");
    recording.add_file(fmt::format("{}/stats_{}/cu_occupancy", directory, id), "3\n");
  }
  for (const MadeQueue& queue : process.queues) {
    add_queue(recording, machine, directory, queue);
  }
  const std::string proc = fmt::format("/proc/{}", process.pid);
  std::string command = process.command;
  std::replace(command.begin(), command.end(), ' ', '\0');
  recording.add_file(proc + "/stat", fmt::format("{} (py) (thon) S 1 2 3 4 5 6 7 8 9 10 11 12 13 "
                                                 "14 15 16 17 18 {} 20 21\n",
                                                 process.pid, process.start_time));
  recording.add_file(proc + "/status",
                     fmt::format("Name:\tpython\nUid:\t{0}\t{0}\t{0}\t{0}\nNSpid:\t{1}\n",
                                 process.uid, process.pid));
  recording.add_file(proc + "/cmdline", command);
  recording.add_file(proc + "/environ", process.environ);
  recording.add_file(proc + "/cgroup", "0::/system.slice/job.service\n");
}

}  // namespace

u64 MadeMachine::mqd_address(const MadeProcess& process, const MadeQueue& queue) const {
  return 0x1000000 + static_cast<u64>(process.pid) * 0x1000000 + queue.queue_id * 0x10000;
}

u32 MadeMachine::doorbell(const MadeProcess& process, const MadeQueue& queue) const {
  return 0x1000 + static_cast<u32>(process.pid % 1000) * 0x400 + queue.queue_id * 2;
}

std::string MadeMachine::mqds() const {
  std::string text;
  for (const MadeProcess& process : processes) {
    text += dkms_pasid ? fmt::format("Process {0} PASID {0}:\n", process.pid)
                       : fmt::format("Process {} PASID 0x8001:\n", process.pid);
    u32 dumps = 1;
    for (auto queue = process.queues.rbegin(); queue != process.queues.rend(); ++queue) {
      const bool compute = queue->type == QueueType::compute;
      text += fmt::format("  {} queue on device {:x}\n", compute ? "Compute" : "SDMA",
                          gpu_id(queue->gpu));
      dumps = compute ? xccs : repeat_sdma ? dumps : 1;
      for (u32 xcc = 0; xcc < dumps; ++xcc) {
        const Placed placed{&process, &*queue};
        // Behind the MQD of an SDMA queue the driver reads whatever lies there.
        hex_dump(text, "    ",
                 compute    ? compute_mqd(*this, placed, xcc)
                 : xcc == 0 ? sdma_mqd(*this, placed)
                            : std::vector<u32>(abi::kSdmaMqdDwords, 0xdeadbeef));
      }
    }
  }
  return text;
}

std::string MadeMachine::hqds() const {
  std::string text;
  for (u32 gpu = 0; gpu < gpus; ++gpu) {
    text += fmt::format("Node {}, gpu_id {:x}:\n", gpu + 1, gpu_id(gpu));
    const std::vector<Placed> mapped = only_mapped(queues_on(*this, gpu, true));
    for (u32 xcc = 0; xcc < xccs; ++xcc) {
      text += fmt::format("   Inst {}, HIQ on MEC 2 Pipe 0 Queue 0\n", xcc);
      std::vector<u32> hiq(abi::kHqdRegisters);
      hiq[0] = 0x006e3000;
      hiq[2] = 1;
      register_dump(text, abi::kHqdFirstAddress, hiq);
      for (u32 slot = 0; slot < kPipes * (kQueuesPerPipe - kFirstQueue); ++slot) {
        dump_compute_slot(text, *this, xcc, slot, mapped);
      }
    }
    dump_sdma(text, *this, only_mapped(queues_on(*this, gpu, false)));
  }
  return text;
}

std::string MadeMachine::rls() const {
  std::string text;
  for (u32 gpu = 0; gpu < gpus; ++gpu) {
    text += fmt::format("Node {}, gpu_id {:x}:\n", gpu + 1, gpu_id(gpu));
    std::vector<u32> packets;
    for (const bool compute : {true, false}) {
      for (const Placed& placed : queues_on(*this, gpu, compute)) {
        if (!placed.queue->active) {
          continue;
        }
        if (packets.empty()) {
          packets.resize(abi::kMapProcessAldebaranDwords);
          packets[0] = abi::pm4_header(abi::kOpMapProcess, abi::kMapProcessAldebaranDwords);
        }
        const u64 address = mqd_address(*placed.process, *placed.queue);
        packets.insert(packets.end(), {abi::pm4_header(abi::kOpMapQueues, abi::kMapQueuesDwords),
                                       0x20100000, doorbell(*placed.process, *placed.queue) << 2,
                                       low(address), high(address), 0, 0});
      }
    }
    if (packets.empty()) {
      text += "  No active runlist\n";
    } else {
      hex_dump(text, "  ", packets);
    }
  }
  return text;
}

Recording MadeMachine::recording() const {
  Recording recording;
  add_topology(recording, *this);
  recording.add_directory("/sys/class/kfd/kfd/proc");
  recording.add_file("/proc/1/stat", "1 (init) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n");
  for (const MadeProcess& process : processes) {
    add_process(recording, *this, process);
  }
  recording.add_file("/sys/kernel/debug/kfd/mqds", mqds());
  recording.add_file("/sys/kernel/debug/kfd/hqds", hqds());
  recording.add_file("/sys/kernel/debug/kfd/rls", rls());
  return recording;
}

Paths made_paths() { return {}; }

Snapshot snapshot_of(const Recording& recording, const ClassConfig& classes,
                     const Sources& sources) {
  ReplayingOs os(recording);
  auto snapshot = take_snapshot(os, made_paths(), classes, sources);
  return snapshot ? std::move(*snapshot) : Snapshot{};
}

}  // namespace gp::discover
