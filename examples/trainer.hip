// An offline job: fits a linear model by gradient descent, one long kernel after the other, for as
// many steps as it is told. Plain HIP; it does not know that the GPU is shared or virtual.
//   trainer STEPS
// Prints "step N loss L" as it goes, and a checksum of the weights at the end.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "hip_call.h"

constexpr unsigned kFeatures = 32, kBlock = 256, kShards = 16, kSamples = kShards * kBlock;
constexpr unsigned kEpochs = 8;  // of each shard, within one kernel
constexpr int kReportEvery = 5;

// The sum over the block, in a fixed order, so that a run gives the same bits every time.
__device__ float block_sum(float value) {
  __shared__ float sums[kBlock];
  sums[threadIdx.x] = value;
  __syncthreads();
  for (unsigned step = kBlock / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) {
      sums[threadIdx.x] += sums[threadIdx.x + step];
    }
    __syncthreads();
  }
  const float total = sums[0];
  __syncthreads();
  return total;
}

// Each block descends on its own shard of the samples for some epochs, from the common weights.
__global__ void train_shards(const float* inputs, const float* targets, const float* weights,
                             float* shard_weights, float rate) {
  __shared__ float local[kFeatures];
  const unsigned sample = blockIdx.x * kBlock + threadIdx.x;
  float* result = shard_weights + blockIdx.x * (kFeatures + 1);
  if (threadIdx.x < kFeatures) {
    local[threadIdx.x] = weights[threadIdx.x];
  }
  __syncthreads();
  for (unsigned epoch = 0; epoch < kEpochs; epoch++) {
    float error = -targets[sample];
    for (unsigned f = 0; f < kFeatures; f++) {
      error += inputs[f * kSamples + sample] * local[f];
    }
    const float loss = block_sum(error * error) / kBlock;
    for (unsigned f = 0; f < kFeatures; f++) {
      const float gradient = block_sum(error * inputs[f * kSamples + sample]) / kBlock;
      if (threadIdx.x == 0) {
        local[f] -= rate * gradient;
      }
    }
    if (threadIdx.x == 0) {
      result[kFeatures] = loss;
    }
    __syncthreads();
  }
  if (threadIdx.x < kFeatures) {
    result[threadIdx.x] = local[threadIdx.x];
  }
}

// The common weights become the shards' mean.
__global__ void average(float* weights, const float* shard_weights, float* loss) {
  const unsigned f = threadIdx.x;
  if (f > kFeatures) {
    return;
  }
  float sum = 0;
  for (unsigned shard = 0; shard < kShards; shard++) {
    sum += shard_weights[shard * (kFeatures + 1) + f];
  }
  *(f < kFeatures ? &weights[f] : loss) = sum / kShards;
}

static float* upload(const std::vector<float>& values) {
  float* memory;
  HIP(hipMalloc(reinterpret_cast<void**>(&memory), values.size() * sizeof(float)));
  HIP(hipMemcpy(memory, values.data(), values.size() * sizeof(float), hipMemcpyHostToDevice));
  return memory;
}

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 100;
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
  float* shard_weights = upload(std::vector<float>(kShards * (kFeatures + 1)));
  float* loss;
  HIP(hipHostMalloc(reinterpret_cast<void**>(&loss), sizeof(float)));

  for (int step = 1; step <= steps; step++) {
    train_shards<<<kShards, kBlock>>>(device_inputs, device_targets, weights, shard_weights, 0.1f);
    average<<<1, 64>>>(weights, shard_weights, loss);
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
