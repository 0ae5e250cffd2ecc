// In place of the executors: no fuzzer runs a GPU program, and a wave that is started anyway stops.
#include "isa/wave.h"

namespace vgpu::isa {
namespace {

u64 run(Wave& wave, u64, const std::atomic<u32>&) {
  wave.stop = Stop::illegal;
  return 0;
}
Handler handler(const Inst&) { return nullptr; }
constexpr Engine kNone = {"none", run, handler};

}  // namespace

const Engine* host_engine() { return &kNone; }
const Engine* engine_named(const char*) { return nullptr; }

}  // namespace vgpu::isa
