// debugfs: mqds, hqds, rls, in the formats of Linux 6.12 (kfd_debugfs.c, kfd_topology.c:2367-2420,
// kfd_device_queue_manager.c:3543-3640, kfd_packet_manager.c:463-486).
#include <fmt/format.h>

#include <map>

#include "abi/mqd.h"
#include "driver/files/virtual_files.h"
#include "driver/queues/mqd_image.h"

namespace vgpu::driver {
namespace {

// seq_hex_dump(m, prefix, DUMP_PREFIX_OFFSET, 32, 4, ...): eight dwords per line.
void hex_dump(std::string& text, const char* prefix, const std::vector<u32>& dwords) {
  for (std::size_t i = 0; i < dwords.size(); ++i) {
    if (i % 8 == 0) {
      text += fmt::format("{}{:08x}: ", prefix, i * sizeof(u32));
    }
    text += fmt::format("{:08x}{}", dwords[i], i % 8 == 7 || i + 1 == dwords.size() ? "\n" : " ");
  }
}

// seq_reg_dump: eight registers per line while the addresses are contiguous.
void register_dump(std::string& text, u32 address, const std::vector<u32>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += i % 8 == 0
                ? fmt::format("{}    {:08x}: {:08x}", i ? "\n" : "", address + i * 4, values[i])
                : fmt::format(" {:08x}", values[i]);
  }
  text += '\n';
}

// The kernel's own queue to the scheduler, on the second micro engine.
std::vector<u32> hiq_registers(const Node& node) {
  std::vector<u32> registers(abi::kHqdRegisters);
  const auto at = [&](u32 dword) -> u32& { return registers[dword - abi::mqd_base_addr_lo]; };
  at(abi::mqd_base_addr_lo) = 0x006e3000 + node.index * 0x1000;
  at(abi::mqd_hqd_active) = 1;
  at(abi::mqd_hqd_persistent_state) = 0x5301;
  at(abi::mqd_hqd_queue_priority) = 1;
  at(abi::mqd_hqd_quantum) = 0x111;
  return registers;
}

void dump_sdma(std::string& text, const Node& node, const std::vector<QueuePtr>& active) {
  constexpr u32 kFirstAddress = 0x4e40, kEngineStride = 0x1800, kQueueStride = 0x160;
  // Four groups of registers: RB_CNTL.., STATUS.., IB_SUB_REMAIN.., MIDCMD_DATA0...
  constexpr struct {
    u32 offset, count, first_dword;
  } kGroups[] = {{0, 19, 0}, {0xa0, 6, 19}, {0xbc, 7, 25}, {0x100, 10, 32}};
  for (u32 engine = 0; engine < node.profile->sdma_engines; ++engine) {
    for (u32 queue = 0; queue < node.profile->sdma_queues_per_engine; ++queue) {
      std::vector<u32> registers(42);
      for (const QueuePtr& each : active) {
        if (each->is_sdma() && each->sdma_engine == engine && each->sdma_queue == queue) {
          const std::vector<u32> mqd = mqd_image(*each);
          std::copy_n(mqd.begin(), registers.size(), registers.begin());
          registers[abi::sdma_mqd_rb_cntl] |= 1;  // RB_ENABLE
        }
      }
      text += fmt::format("  SDMA Engine {}, RLC {}\n", engine, queue);
      const u32 base = kFirstAddress + engine * kEngineStride + queue * kQueueStride;
      for (const auto& group : kGroups) {
        register_dump(text, base + group.offset,
                      {registers.begin() + group.first_dword,
                       registers.begin() + group.first_dword + group.count});
      }
    }
  }
}

}  // namespace

std::string debugfs_mqds(Module& module) {
  std::string text;
  for (const ProcessPtr& process : module.all_processes()) {
    text += fmt::format("Process {} PASID {:#x}:\n", process->pid, process->pasid);
    const std::lock_guard lock(process->mutex);
    for (const QueuePtr& queue : process->queues) {
      const Node& node = queue->device->node;
      text += fmt::format("  {} queue on device {:x}\n", queue->is_compute() ? "Compute" : "SDMA",
                          node.gpu_id);
      const std::lock_guard dqm_lock(node.dqm->mutex());
      hex_dump(text, "    ", mqd_image(*queue));
    }
  }
  return text;
}

std::string debugfs_hqds(Module& module) {
  std::string text;
  for (const auto& node : module.nodes) {
    text += fmt::format("Node {}, gpu_id {:x}:\n", node->index + 1, node->gpu_id);
    text += "   Inst 0, HIQ on MEC 2 Pipe 0 Queue 0\n";
    register_dump(text, abi::kHqdFirstAddress, hiq_registers(*node));
    node->dqm->inspect([&](const Dqm::RunList& list) {
      std::map<const device::Mqd*, const Queue*> by_mqd;
      std::vector<QueuePtr> active;
      for (const auto& queues : list.queues) {
        active.insert(active.end(), queues.begin(), queues.end());
      }
      for (const QueuePtr& queue : active) {
        by_mqd[queue->mqd.get()] = queue.get();
      }
      std::vector<device::HqdView> views = node->gpu->hqds();
      std::sort(views.begin(), views.end(), [](const auto& a, const auto& b) {
        return a.pipe != b.pipe ? a.pipe < b.pipe : a.queue < b.queue;
      });
      for (const device::HqdView& view : views) {
        const auto found = by_mqd.find(view.mqd.get());
        text += fmt::format(" Inst 0,  CP Pipe {}, Queue {}\n", view.pipe, view.queue);
        register_dump(text, abi::kHqdFirstAddress,
                      hqd_registers(found == by_mqd.end() ? nullptr : found->second, view));
      }
      dump_sdma(text, *node, active);
    });
  }
  return text;
}

std::string debugfs_rls(Module& module) {
  std::string text;
  for (const auto& node : module.nodes) {
    text += fmt::format("Node {}, gpu_id {:x}:\n", node->index + 1, node->gpu_id);
    node->dqm->inspect([&](const Dqm::RunList& list) {
      if (!list.active) {
        text += "  No active runlist\n";
      } else {
        hex_dump(text, "  ", run_list_image(*node, list));
      }
    });
  }
  return text;
}

std::string debugfs_mem_limit(Module& module) {
  constexpr u64 kMiB = 1 << 20;
  return fmt::format("System mem used {}M out of {}M\nTTM mem used 0M out of 0M\n",
                     module.pool->used(MemoryPool::kSystem) / kMiB,
                     module.pool->capacity(MemoryPool::kSystem) / kMiB);
}

}  // namespace vgpu::driver
