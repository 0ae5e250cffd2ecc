// TEST: a kernel compiled at run time by hiprtc loads and runs
// LINK: -lhiprtc-builtins
#include <hip/hiprtc.h>

#include <string>

#include "check.h"

static const char kSource[] = R"(
extern "C" __global__ void polynomial(const float* x, float* y, unsigned n, float a) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaf(fmaf(a, x[i], 2.0f), x[i], 1.0f);
}
)";

static void expect_ok(hiprtcResult result, const char* what) {
  EXPECT(result == HIPRTC_SUCCESS, "%s: %s", what, hiprtcGetErrorString(result));
}

int main() {
  hipDeviceProp_t properties;
  HIP(hipGetDeviceProperties(&properties, 0));
  hiprtcProgram program;
  expect_ok(hiprtcCreateProgram(&program, kSource, "polynomial.cu", 0, nullptr, nullptr), "create");
  const std::string arch = std::string("--gpu-architecture=") + properties.gcnArchName;
  const char* options[] = {arch.c_str(), "-O3"};
  const hiprtcResult compiled = hiprtcCompileProgram(program, 2, options);
  if (compiled != HIPRTC_SUCCESS) {
    size_t size = 0;
    hiprtcGetProgramLogSize(program, &size);
    std::string log(size, '\0');
    hiprtcGetProgramLog(program, &log[0]);
    EXPECT(false, "compile: %s", log.c_str());
  }
  size_t size;
  expect_ok(hiprtcGetCodeSize(program, &size), "code size");
  std::vector<char> code(size);
  expect_ok(hiprtcGetCode(program, code.data()), "code");
  expect_ok(hiprtcDestroyProgram(&program), "destroy");

  hipModule_t module;
  hipFunction_t kernel;
  HIP(hipModuleLoadData(&module, code.data()));
  HIP(hipModuleGetFunction(&kernel, module, "polynomial"));
  constexpr u32 kCount = 1000;
  const auto x = random_floats(kCount, -2, 2);
  DeviceArray<float> device_x(x), device_y(kCount);
  struct {
    float *x, *y;
    u32 n;
    float a;
  } arguments{device_x, device_y, kCount, 3.0f};
  size_t arguments_size = sizeof(arguments);
  void* config[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE,
                    &arguments_size, HIP_LAUNCH_PARAM_END};
  HIP(hipModuleLaunchKernel(kernel, (kCount + 63) / 64, 1, 1, 64, 1, 1, 0, nullptr, nullptr,
                            config));
  finish();
  std::vector<float> want(kCount);
  for (u32 i = 0; i < kCount; i++) want[i] = std::fma(std::fma(3.0f, x[i], 2.0f), x[i], 1.0f);
  expect_equal(device_y.read(), want, "y");
  HIP(hipModuleUnload(module));
  return pass("hiprtc");
}
