// TEST: a captured and a built graph run, again and again
// SANITIZE:
#include "check.h"

__global__ void scale(const u32* in, u32* out, u32 factor) {
  out[global_thread()] = in[global_thread()] * factor;
}
__global__ void add(u32* in, u32 value) { in[global_thread()] += value; }

constexpr u32 kCount = 256;

static void captured() {
  hipStream_t stream, side;
  HIP(hipStreamCreate(&stream));
  HIP(hipStreamCreate(&side));
  hipEvent_t fork_event, join_event;
  HIP(hipEventCreate(&fork_event));
  HIP(hipEventCreate(&join_event));
  DeviceArray<u32> a(random_integers<u32>(kCount)), b(kCount), c(kCount);
  std::vector<u32> start = a.read(), out(kCount);
  hipGraph_t graph;
  HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  add<<<4, 64, 0, stream>>>(a, 1);
  HIP(hipEventRecord(fork_event, stream));
  HIP(hipStreamWaitEvent(side, fork_event, 0));
  scale<<<4, 64, 0, side>>>(a, c, 5);
  scale<<<4, 64, 0, stream>>>(a, b, 3);
  HIP(hipEventRecord(join_event, side));
  HIP(hipStreamWaitEvent(stream, join_event, 0));
  add<<<4, 64, 0, stream>>>(c, 9);
  HIP(hipMemcpyAsync(out.data(), c, kCount * 4, hipMemcpyDeviceToHost, stream));
  HIP(hipStreamEndCapture(stream, &graph));
  hipGraphExec_t exec;
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (u32 round = 1; round <= 10; round++) {
    HIP(hipGraphLaunch(exec, stream));
    HIP(hipStreamSynchronize(stream));
    const auto got_b = b.read();
    for (u32 i = 0; i < kCount; i++) {
      EXPECT(got_b[i] == (start[i] + round) * 3, "round %u: b[%u] is %u", round, i, got_b[i]);
      EXPECT(out[i] == (start[i] + round) * 5 + 9, "round %u: c[%u] is %u", round, i, out[i]);
    }
  }
  HIP(hipGraphExecDestroy(exec));
  HIP(hipGraphDestroy(graph));
  HIP(hipStreamDestroy(stream));
  HIP(hipStreamDestroy(side));
}

static void built() {
  DeviceArray<u32> a(kCount), b(kCount);
  a.zero();
  u32 *in = a, *out = b, factor = 7, value = 6;
  void *add_arguments[] = {&in, &value}, *scale_arguments[] = {&in, &out, &factor};
  hipGraph_t graph;
  HIP(hipGraphCreate(&graph, 0));
  hipGraphNode_t add_node, scale_node;
  hipKernelNodeParams parameters{};
  parameters.func = reinterpret_cast<void*>(add);
  parameters.gridDim = dim3(4);
  parameters.blockDim = dim3(64);
  parameters.kernelParams = add_arguments;
  HIP(hipGraphAddKernelNode(&add_node, graph, nullptr, 0, &parameters));
  parameters.func = reinterpret_cast<void*>(scale);
  parameters.kernelParams = scale_arguments;
  HIP(hipGraphAddKernelNode(&scale_node, graph, &add_node, 1, &parameters));
  hipGraphExec_t exec;
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  HIP(hipGraphLaunch(exec, stream));
  HIP(hipGraphLaunch(exec, stream));
  HIP(hipStreamSynchronize(stream));
  expect_equal(b.read(), std::vector<u32>(kCount, 12 * 7), "built graph");
  HIP(hipGraphExecDestroy(exec));
  HIP(hipGraphDestroy(graph));
  HIP(hipStreamDestroy(stream));
}

int main() {
  captured();
  built();
  return pass("graphs");
}
