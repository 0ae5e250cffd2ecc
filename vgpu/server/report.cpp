#include "server/report.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

namespace vgpu::server {
namespace {

using nlohmann::ordered_json;
constexpr int kSchemaVersion = 1;

ordered_json gpu_json(const driver::GpuInfo& gpu) {
  return {{"gpu_id", gpu.gpu_id},
          {"profile", gpu.profile},
          {"cus", gpu.cus},
          {"hqds", gpu.hqds},
          {"hqds_active", gpu.stats.hqds_active},
          {"vram_bytes", gpu.vram_bytes},
          {"vram_used_bytes", gpu.vram_used},
          {"wave_instructions", gpu.stats.wave_instructions},
          {"dispatches", gpu.stats.dispatches},
          {"unmaps", gpu.stats.unmaps},
          {"runlists", gpu.stats.runlists},
          {"waves_saved", gpu.stats.waves_saved},
          {"waves_restored", gpu.stats.waves_restored},
          {"saved_bytes", gpu.stats.saved_bytes},
          {"loans", gpu.stats.loans},
          {"loans_refused", gpu.stats.loans_refused}};
}

ordered_json queue_json(const driver::QueueInfo& queue) {
  return {{"pid", queue.pid},   {"queue_id", queue.queue_id}, {"gpu_id", queue.gpu_id},
          {"type", queue.type}, {"priority", queue.priority}, {"state", queue.state}};
}

}  // namespace

std::string stats_json(const driver::Stats& stats, const protocol::DeviceDescription& device) {
  ordered_json gpus = ordered_json::array();
  for (const driver::GpuInfo& gpu : stats.gpus) {
    gpus.push_back(gpu_json(gpu));
  }
  ordered_json queues = ordered_json::array();
  for (const driver::QueueInfo& queue : stats.queues) {
    queues.push_back(queue_json(queue));
  }
  const ordered_json report = {{"schema_version", kSchemaVersion},
                               {"cost_model", device.cost_model},
                               {"gpus", gpus},
                               {"queues", queues}};
  return report.dump(2) + "\n";
}

std::string identity_json(const protocol::DeviceDescription& device) {
  const ordered_json identity = {{"schema_version", kSchemaVersion},
                                 {"pid", ::getpid()},
                                 {"profile", device.profile},
                                 {"gpus", device.gpus},
                                 {"cus", device.cus},
                                 {"hqds", device.hqds},
                                 {"vram_bytes", device.vram_bytes},
                                 {"kfd", device.kfd},
                                 {"cost_model", device.cost_model},
                                 {"description", protocol::describe_device(device)}};
  return identity.dump(2) + "\n";
}

}  // namespace vgpu::server
