// An offline job: fits a linear model by gradient descent, one long kernel after the other, for as
// many steps as it is told. Plain HIP; it does not know that the GPU is shared or virtual.
//   trainer STEPS
// Prints "step N loss L" as it goes, and a checksum of the weights at the end.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "hip_call.h"

constexpr unsigned kFeatures = 32, kSamples = 16384, kBlock = 256;
constexpr int kReportEvery = 5;

// Each block adds up the gradient of its samples in LDS; then the blocks' sums are added in a fixed
// order, so that a run gives the same bits every time.
__global__ void gradient(const float* inputs, const float* targets, const float* weights,
                         float* block_sums) {
  __shared__ float sums[kBlock];
  const unsigned sample = blockIdx.x * kBlock + threadIdx.x;
  float error = -targets[sample];
  for (unsigned f = 0; f < kFeatures; f++) {
    error += inputs[f * kSamples + sample] * weights[f];
  }
  for (unsigned f = 0; f <= kFeatures; f++) {
    // The last "feature" is the squared error.
    sums[threadIdx.x] = error * (f < kFeatures ? inputs[f * kSamples + sample] : error);
    __syncthreads();
    for (unsigned step = kBlock / 2; step > 0; step /= 2) {
      if (threadIdx.x < step)
        sums[threadIdx.x] += sums[threadIdx.x + step];
      __syncthreads();
    }
    if (threadIdx.x == 0)
      block_sums[blockIdx.x * (kFeatures + 1) + f] = sums[0];
    __syncthreads();
  }
}

__global__ void update(float* weights, const float* block_sums, unsigned blocks, float rate,
                       float* loss) {
  const unsigned f = threadIdx.x;
  if (f > kFeatures)
    return;
  float sum = 0;
  for (unsigned block = 0; block < blocks; block++) sum += block_sums[block * (kFeatures + 1) + f];
  sum /= kSamples;
  if (f < kFeatures) {
    weights[f] -= rate * sum;
  } else {
    *loss = sum;
  }
}

static float* upload(const std::vector<float>& values) {
  float* memory;
  HIP(hipMalloc(reinterpret_cast<void**>(&memory), values.size() * sizeof(float)));
  HIP(hipMemcpy(memory, values.data(), values.size() * sizeof(float), hipMemcpyHostToDevice));
  return memory;
}

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 100;
  constexpr unsigned kBlocks = kSamples / kBlock;
  // Data made from weights that training should find again.
  std::vector<float> inputs(kFeatures * kSamples), targets(kSamples, 0.0f);
  std::uint32_t state = 1;
  for (unsigned f = 0; f < kFeatures; f++) {
    for (unsigned s = 0; s < kSamples; s++) {
      state = state * 1664525u + 1013904223u;
      const float x = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
      inputs[f * kSamples + s] = x;
      targets[s] += x * std::sin(static_cast<float>(f));
    }
  }
  float *device_inputs = upload(inputs), *device_targets = upload(targets);
  float* weights = upload(std::vector<float>(kFeatures, 0.0f));
  float* block_sums = upload(std::vector<float>(kBlocks * (kFeatures + 1)));
  float* loss;
  HIP(hipHostMalloc(reinterpret_cast<void**>(&loss), sizeof(float)));

  for (int step = 1; step <= steps; step++) {
    gradient<<<kBlocks, kBlock>>>(device_inputs, device_targets, weights, block_sums);
    update<<<1, 64>>>(weights, block_sums, kBlocks, 0.5f, loss);
    // Looks at the loss now and then: in between the GPU always has work.
    if (step % kReportEvery == 0 || step == steps) {
      HIP(hipDeviceSynchronize());
      std::printf("step %d loss %.6f\n", step, *loss);
      std::fflush(stdout);
    }
  }
  std::vector<float> result(kFeatures);
  HIP(hipMemcpy(result.data(), weights, kFeatures * sizeof(float), hipMemcpyDeviceToHost));
  std::uint64_t checksum = 14695981039346656037ull;
  for (float weight : result) {
    std::uint32_t bits;
    std::memcpy(&bits, &weight, sizeof(bits));
    checksum = (checksum ^ bits) * 1099511628211ull;
  }
  std::printf("checksum %016llx\n", static_cast<unsigned long long>(checksum));
  return 0;
}
