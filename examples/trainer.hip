// An offline job: trains a multi-layer perceptron (one hidden layer, relu, mean squared error) by
// gradient descent. Each step's batch is cut into shards, one stream each: forward, backward, and
// then one update of the weights from all gradients. Plain HIP, with blocking waits; it does not
// know that the GPU is shared or virtual.
//
// The result is deterministic. Whatever happens to its queues, after N steps the checksum of the
// weights is the same; the trail of checksums, one per report, shows that for runs of any length.
//
// The default size makes kernels of some tens of milliseconds on the virtual GPU. On hardware:
//   trainer --batch 12288 --inputs 2048 --hidden 4096
// Variants:
//   trainer --kernels 1000       more than a thousand tiny launches per step; the same result
//   trainer --graph              the step is captured once and launched as a graph
//   trainer --start-over 50      after 50 steps the next training begins, with the same weights as
//                                the first: every step of a long run can be compared with a short
//                                one
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <vector>

#include "blocking_wait.h"
#include "clock.h"
#include "end_requested.h"
#include "hip_call.h"
#include "layers.h"
#include "options.h"

constexpr unsigned kBlock = 256, kTile = 32;
constexpr float kRate = 0.05f;

struct Settings {
  unsigned steps, streams, batch, inputs, hidden, outputs, kernels, report_every;
  unsigned start_over;  // after so many steps; 0: never
  double seconds;
  bool graph;
  std::string json;

  unsigned weights() const { return inputs * hidden + hidden * outputs; }
};

// The sum of squares of `count` errors, by one block in a fixed order.
__global__ void sum_of_squares(const float* errors, unsigned count, float* result) {
  __shared__ float sums[kBlock];
  float sum = 0;
  for (unsigned i = threadIdx.x; i < count; i += kBlock) {
    sum = fmaf(errors[i], errors[i], sum);
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned step = kBlock / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) {
      sums[threadIdx.x] += sums[threadIdx.x + step];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    *result = sums[0];
  }
}

// Steps down the sum of the shards' gradients, added in their order. Behind the weights lies the
// loss, behind each shard's gradients its part of it.
__global__ void descend(float* parameters, const float* gradients, unsigned shards,
                        unsigned weights, float rate, float per_output) {
  const unsigned i = blockIdx.x * kBlock + threadIdx.x;
  if (i > weights) {
    return;
  }
  float sum = 0;
  for (unsigned shard = 0; shard < shards; shard++) {
    sum += gradients[shard * (weights + 1) + i];
  }
  parameters[i] = i < weights ? fmaf(-rate, sum, parameters[i]) : sum * per_output;
}

// Numbers in [-1, 1) that are the same in every run.
static std::vector<float> random_numbers(std::size_t count, std::uint32_t seed, float scale = 1) {
  std::vector<float> numbers(count);
  for (float& number : numbers) {
    seed = seed * 1664525u + 1013904223u;
    number = scale * (static_cast<float>(seed >> 8) / 8388608.0f - 1.0f);
  }
  return numbers;
}

static float* device_array(std::size_t count) {
  float* memory;
  HIP(hipMalloc(reinterpret_cast<void**>(&memory), count * sizeof(float)));
  return memory;
}

static float* device_copy(const std::vector<float>& values) {
  float* memory = device_array(values.size());
  HIP(hipMemcpy(memory, values.data(), values.size() * sizeof(float), hipMemcpyHostToDevice));
  return memory;
}

// A part of the batch, and the stream that works on it.
struct Shard {
  Matrix inputs, targets, hidden, errors, deltas;
  float* gradients;  // of both layers, then the sum of squared errors
  hipStream_t stream;
  hipEvent_t done;
};

static hipEvent_t blocking_event() {
  hipEvent_t event;
  HIP(hipEventCreateWithFlags(&event, hipEventBlockingSync | hipEventDisableTiming));
  return event;
}

class Trainer {
 public:
  explicit Trainer(const Settings& settings) : settings_(settings) {
    HIP(hipStreamCreateWithFlags(&stream_, hipStreamNonBlocking));
    updated_ = blocking_event();
    reported_ = blocking_event();
    HIP(hipHostMalloc(reinterpret_cast<void**>(&report_), (weights() + 1) * sizeof(float)));
    const float scale = 1.0f / std::sqrt(static_cast<float>(settings.inputs));
    std::vector<float> start = random_numbers(weights(), 1, scale);
    start.push_back(0);  // the loss
    first_parameters_ = device_copy(start);
    parameters_ = device_copy(start);
    gradients_ = device_array(std::size_t{settings.streams} * (weights() + 1));
    make_shards();
    HIP(hipDeviceSynchronize());
    HIP(hipEventRecord(updated_, stream_));
    if (settings.graph) {
      capture();
    }
  }

  void start_over() {
    HIP(hipMemcpyAsync(parameters_, first_parameters_, (weights() + 1) * sizeof(float),
                       hipMemcpyDeviceToDevice, stream_));
    HIP(hipEventRecord(updated_, stream_));
  }

  void step() {
    if (settings_.graph) {
      HIP(hipGraphLaunch(graph_, stream_));
    } else {
      launch();
    }
  }

  // Waits for all steps so far. `loss` is that of the weights before the last step.
  std::uint64_t checksum(float* loss) {
    const std::size_t bytes = (weights() + 1) * sizeof(float);
    HIP(hipMemcpyAsync(report_, parameters_, bytes, hipMemcpyDeviceToHost, stream_));
    HIP(hipEventRecord(reported_, stream_));
    wait_for(reported_, 1'000'000);
    *loss = report_[weights()];
    std::uint64_t hash = 14695981039346656037u;  // FNV-1a
    const auto* byte = reinterpret_cast<const unsigned char*>(report_);
    for (std::size_t i = 0; i < bytes - sizeof(float); i++) {
      hash = (hash ^ byte[i]) * 1099511628211u;
    }
    return hash;
  }

 private:
  unsigned weights() const { return settings_.weights(); }
  Matrix layer1(float* values) const {
    return Matrix::of(values, settings_.inputs, settings_.hidden);
  }
  Matrix layer2(float* values) const {
    return Matrix::of(values + settings_.inputs * settings_.hidden, settings_.hidden,
                      settings_.outputs);
  }

  void make_shards() {
    const Settings& s = settings_;
    const unsigned rows = s.batch / s.streams;
    for (unsigned i = 0; i < s.streams; i++) {
      Shard shard{};
      shard.inputs =
          Matrix::of(device_copy(random_numbers(rows * s.inputs, 100 + i)), rows, s.inputs);
      shard.targets =
          Matrix::of(device_copy(random_numbers(rows * s.outputs, 200 + i)), rows, s.outputs);
      shard.hidden = Matrix::of(device_array(rows * s.hidden), rows, s.hidden);
      shard.errors = Matrix::of(device_array(rows * s.outputs), rows, s.outputs);
      shard.deltas = Matrix::of(device_array(rows * s.hidden), rows, s.hidden);
      shard.gradients = gradients_ + std::size_t{i} * (weights() + 1);
      HIP(hipStreamCreateWithFlags(&shard.stream, hipStreamNonBlocking));
      shard.done = blocking_event();
      shards_.push_back(shard);
    }
  }

  void launch_shard(const Shard& shard) const {
    const unsigned kernels = settings_.kernels;
    const hipStream_t stream = shard.stream;
    const Matrix weights1 = layer1(parameters_), weights2 = layer2(parameters_);
    const Matrix gradient1 = layer1(shard.gradients), gradient2 = layer2(shard.gradients);
    launch_multiply<Then::relu, kTile>(shard.inputs, weights1, shard.hidden, shard.hidden, kernels,
                                       stream);
    launch_multiply<Then::minus_other, kTile>(shard.hidden, weights2, shard.errors, shard.targets,
                                              kernels, stream);
    sum_of_squares<<<1, kBlock, 0, stream>>>(
        shard.errors.data, shard.errors.rows * shard.errors.columns, shard.gradients + weights());
    launch_multiply<Then::nothing, kTile>(shard.hidden.transposed(), shard.errors, gradient2,
                                          gradient2, kernels, stream);
    launch_multiply<Then::where_other_is_set, kTile>(shard.errors, weights2.transposed(),
                                                     shard.deltas, shard.hidden, kernels, stream);
    launch_multiply<Then::nothing, kTile>(shard.inputs.transposed(), shard.deltas, gradient1,
                                          gradient1, kernels, stream);
  }

  void launch() {
    for (const Shard& shard : shards_) {
      HIP(hipStreamWaitEvent(shard.stream, updated_, 0));
      launch_shard(shard);
      HIP(hipEventRecord(shard.done, shard.stream));
      HIP(hipStreamWaitEvent(stream_, shard.done, 0));
    }
    const auto batch = static_cast<float>(settings_.batch);
    descend<<<(weights() + kBlock) / kBlock, kBlock, 0, stream_>>>(
        parameters_, gradients_, settings_.streams, weights(), kRate / batch,
        1.0f / (batch * static_cast<float>(settings_.outputs)));
    HIP(hipEventRecord(updated_, stream_));
  }

  void capture() {
    hipGraph_t graph;
    HIP(hipStreamBeginCapture(stream_, hipStreamCaptureModeGlobal));
    HIP(hipEventRecord(updated_, stream_));
    launch();
    HIP(hipStreamEndCapture(stream_, &graph));
    HIP(hipGraphInstantiate(&graph_, graph, nullptr, nullptr, 0));
  }

  const Settings settings_;
  hipStream_t stream_{};
  hipGraphExec_t graph_{};
  hipEvent_t updated_{}, reported_{};
  std::vector<Shard> shards_;
  float *first_parameters_ = nullptr, *parameters_ = nullptr, *gradients_ = nullptr;
  float* report_ = nullptr;  // the parameters, on the host
};

// What was reached when.
struct Report {
  unsigned step;   // of this training
  unsigned steps;  // of all
  std::uint64_t time_us, checksum;
  float loss;
};

static double steps_per_second(std::uint64_t start_us, const Report& last) {
  const double seconds = 1e-6 * static_cast<double>(last.time_us - start_us);
  return seconds > 0 ? last.steps / seconds : 0;
}

static bool write_json(const std::string& path, std::uint64_t start_us,
                       const std::vector<Report>& reports) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    return false;
  }
  const Report& last = reports.back();
  std::fprintf(file,
               "{\"schema_version\": 1, \"start_us\": %" PRIu64
               ", \"steps\": %u,"
               " \"steps_per_s\": %.6g, \"loss\": %.9g, \"checksum\": \"%016" PRIx64
               "\",\n"
               " \"trail\": [",
               start_us, last.steps, steps_per_second(start_us, last), last.loss, last.checksum);
  for (const Report& report : reports) {
    std::fprintf(file,
                 "%s\n  {\"step\": %u, \"time_us\": %" PRIu64
                 ", \"loss\": %.9g, \"checksum\": \"%016" PRIx64 "\"}",
                 &report == reports.data() ? "" : ",", report.step, report.time_us, report.loss,
                 report.checksum);
  }
  std::fprintf(file, "\n ]}\n");
  return std::fclose(file) == 0;
}

static Settings settings_of(int argc, char** argv) {
  Options options(argc, argv,
                  "trainer [STEPS] [--for SECONDS] [--streams N] [--batch N] [--inputs N] "
                  "[--hidden N] [--outputs N] [--kernels N] [--graph] [--report-every STEPS] "
                  "[--start-over STEPS] [--json FILE]");
  Settings settings{};
  settings.seconds = options.decimal("--for", 0);
  settings.streams = options.number("--streams", 2);
  settings.batch = options.number("--batch", 256);
  settings.inputs = options.number("--inputs", 512);
  settings.hidden = options.number("--hidden", 512);
  settings.outputs = options.number("--outputs", 16);
  settings.kernels = options.number("--kernels", 1);
  settings.report_every = options.number("--report-every", 10);
  settings.start_over = options.number("--start-over", 0);
  settings.graph = options.flag("--graph");
  settings.json = options.text("--json");
  settings.steps = options.positional(settings.seconds > 0 ? INT_MAX : 100);
  options.finish();
  if (settings.batch % settings.streams != 0) {
    options.fail("--batch must be a multiple of --streams");
  }
  return settings;
}

int main(int argc, char** argv) {
  const Settings settings = settings_of(argc, argv);
  listen_for_end();
  HIP(hipSetDeviceFlags(hipDeviceScheduleBlockingSync));
  Trainer trainer(settings);
  std::printf("ready\n");
  std::fflush(stdout);

  const std::uint64_t start = monotonic_us();
  std::vector<Report> reports;
  unsigned step = 0;  // of this training
  for (unsigned steps = 1; steps <= settings.steps; steps++) {
    if (settings.start_over != 0 && step == settings.start_over) {
      trainer.start_over();
      step = 0;
    }
    step++;
    trainer.step();
    if (step % settings.report_every != 0 && steps != settings.steps) {
      continue;  // in between the GPU always has work
    }
    Report report{};
    report.checksum = trainer.checksum(&report.loss);
    report.step = step;
    report.steps = steps;
    report.time_us = monotonic_us();
    reports.push_back(report);
    std::printf("step %u loss %.6f steps/s %.2f\n", step, report.loss,
                steps_per_second(start, report));
    std::fflush(stdout);
    if (end_requested() ||
        (settings.seconds > 0 && report.time_us - start >= 1e6 * settings.seconds)) {
      break;
    }
  }
  std::printf("steps %u checksum %016" PRIx64 "\n", reports.back().steps, reports.back().checksum);
  if (!settings.json.empty() && !write_json(settings.json, start, reports)) {
    std::perror(settings.json.c_str());
    return 1;
  }
  return 0;
}
