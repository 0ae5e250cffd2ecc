#include "demo/load.h"

#include <algorithm>

namespace gp::demo {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kVirtualInterval{125}, kHardwareInterval{25};

}  // namespace

Load load_for(bool virtual_gpu, milliseconds duration) {
  const milliseconds interval = virtual_gpu ? kVirtualInterval : kHardwareInterval;
  const auto requests = std::max<milliseconds::rep>(1, duration / interval);
  Load load;
  load.virtual_gpu = virtual_gpu;
  load.duration = duration;
  load.server = {std::to_string(requests), std::to_string(interval.count()), "--arrivals",
                 "poisson"};
  if (virtual_gpu) {
    load.trainer = {"--report-every", "1"};
  } else {
    load.trainer = {"--batch",  "12288", "--inputs",       "2048",
                    "--hidden", "4096",  "--report-every", "10"};
    load.server.insert(load.server.end(), {"--width", "1024", "--layers", "24"});
  }
  load.trainer.insert(load.trainer.end(), {"--for", "3600"});  // we end it
  return load;
}

Load load_with(LlamaServer llama, bool virtual_gpu, milliseconds duration) {
  // On a virtual GPU an answer takes between 100 and 200 ms.
  constexpr milliseconds kRequest{450}, kThinks{350};
  constexpr unsigned kTokens = 16;
  Load load = load_for(virtual_gpu, duration);
  load.server.clear();
  load.llama = std::move(llama);
  load.llama_client = {std::to_string(std::max<milliseconds::rep>(1, duration / kRequest)),
                       std::to_string(kThinks.count()), std::to_string(kTokens)};
  // It starts slowly, and without gpreempt each answer takes long: the trainer goes on meanwhile.
  load.longer = 3 * duration + std::chrono::seconds(10);
  return load;
}

}  // namespace gp::demo
