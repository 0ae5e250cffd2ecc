// Does something on several GPUs at the same time, as the driver does: who waits for one that is
// slow does not wait for the others as well.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "driver/node.h"

namespace vgpu::driver {

// Returns when all have finished. `work` is called for each GPU that `concerns`, on different
// threads; a single one has no need of another.
template <class Concerns, class Work>
void on_gpus_if(const std::vector<std::unique_ptr<Node>>& nodes, Concerns concerns, Work work) {
  std::vector<Node*> concerned;
  for (const auto& node : nodes) {
    if (concerns(*node)) {
      concerned.push_back(node.get());
    }
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < concerned.size(); ++i) {
    threads.emplace_back([&work, node = concerned[i]] { work(*node); });
  }
  if (!concerned.empty()) {
    work(*concerned.front());
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

template <class Work>
void on_gpus(const std::vector<std::unique_ptr<Node>>& nodes, Work work) {
  on_gpus_if(
      nodes, [](const Node&) { return true; }, work);
}

}  // namespace vgpu::driver
