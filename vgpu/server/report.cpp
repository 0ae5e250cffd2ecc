#include "server/report.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "server/device_options.h"

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
          {"saved_bytes", gpu.stats.saved_bytes}};
}

ordered_json queue_json(const driver::QueueInfo& queue) {
  return {{"pid", queue.pid},   {"queue_id", queue.queue_id}, {"gpu_id", queue.gpu_id},
          {"type", queue.type}, {"priority", queue.priority}, {"state", queue.state}};
}

}  // namespace

std::string stats_json(const driver::Stats& stats, const driver::DriverConfig& config) {
  ordered_json gpus = ordered_json::array();
  for (const driver::GpuInfo& gpu : stats.gpus) {
    gpus.push_back(gpu_json(gpu));
  }
  ordered_json queues = ordered_json::array();
  for (const driver::QueueInfo& queue : stats.queues) {
    queues.push_back(queue_json(queue));
  }
  const ordered_json report = {{"schema_version", kSchemaVersion},
                               {"cost_model", name_of(config.gpu.cost_model)},
                               {"gpus", gpus},
                               {"queues", queues}};
  return report.dump(2) + "\n";
}

std::string identity_json(const driver::DriverConfig& config) {
  const ordered_json identity = {{"schema_version", kSchemaVersion},
                                 {"pid", ::getpid()},
                                 {"profile", config.profile},
                                 {"gpus", config.gpus},
                                 {"cus", config.gpu.cus},
                                 {"hqds", config.gpu.hqds},
                                 {"vram_bytes", config.vram_bytes},
                                 {"kfd", name_of(config.kfd)},
                                 {"cost_model", name_of(config.gpu.cost_model)},
                                 {"description", describe_device(config)}};
  return identity.dump(2) + "\n";
}

}  // namespace vgpu::server
