// TEST: a grid that is no multiple of its block runs exactly its threads
#include <hip/hip_ext.h>
#include <hip/hiprtc.h>

#include <string>

#include "check.h"

// Launched by threads, not by blocks: the last block of each row is partial.
static const char kSource[] = R"(
extern "C" __global__ void visit(unsigned* counts, unsigned width) {
  // In a partial block blockDim is what is left of it.
  unsigned x = blockIdx.x * 96 + threadIdx.x, y = blockIdx.y * 2 + threadIdx.y;
  atomicAdd(&counts[y * width + x], 1u);
}
)";

int main() {
  hipDeviceProp_t properties;
  HIP(hipGetDeviceProperties(&properties, 0));
  hiprtcProgram program;
  const std::string arch = std::string("--gpu-architecture=") + properties.gcnArchName;
  // Since HIP 6 a kernel has whole blocks alone unless it was compiled for others.
  const char* options[] = {arch.c_str(), "-fno-offload-uniform-block"};
  constexpr int kOptions = HIP_VERSION_MAJOR >= 6 ? 2 : 1;
  EXPECT(
      hiprtcCreateProgram(&program, kSource, "visit.cu", 0, nullptr, nullptr) == HIPRTC_SUCCESS &&
          hiprtcCompileProgram(program, kOptions, options) == HIPRTC_SUCCESS,
      "hiprtc");
  size_t size;
  EXPECT(hiprtcGetCodeSize(program, &size) == HIPRTC_SUCCESS, "code size");
  std::vector<char> code(size);
  EXPECT(hiprtcGetCode(program, code.data()) == HIPRTC_SUCCESS, "code");
  hipModule_t module;
  hipFunction_t kernel;
  HIP(hipModuleLoadData(&module, code.data()));
  HIP(hipModuleGetFunction(&kernel, module, "visit"));

  constexpr u32 kWidth = 1000, kHeight = 7, kMargin = 64;
  DeviceArray<u32> counts(kWidth * kHeight + kMargin);
  counts.zero();
  u32 *pointer = counts, width = kWidth;
  void* arguments[] = {&pointer, &width};
  HIP(hipExtModuleLaunchKernel(kernel, kWidth, kHeight, 1, 96, 2, 1, 0, nullptr, arguments, nullptr,
                               nullptr, nullptr, 0));
  finish();
  std::vector<u32> want(kWidth * kHeight + kMargin, 1);
  std::fill(want.end() - kMargin, want.end(), 0);
  expect_equal(counts.read(), want, "visits");
  return pass("partial blocks");
}
