// An online job: answers requests by a multi-layer perceptron (inference, one input at a time
// unless told otherwise). Plain HIP, with blocking waits; it does not know that the GPU is shared
// or virtual.
//
// Open loop: requests arrive when they arrive, whether or not the last one is answered. Latency
// counts from the intended arrival, so that waiting in line is not hidden. Every answer is compared
// with one the host has computed.
//
//   server 100 50                          100 requests, one every 50 ms
//   server 100 50 --arrivals poisson       one every 50 ms on average
//   server 100 50 --arrivals bursts        in bursts (--burst 10)
//   server --trace FILE                    the milliseconds of each arrival, a line each
// Variants:
//   server --batch 256                     batch-heavy: long kernels
//   server --layers 200 --kernels 100      many kernels: thousands of tiny launches per request
//   server --layers 200 --graph            the same network as one graph
//   server --high-priority                 on a queue of high priority
//   server --tokens 16 --pause-us 3000     as a language model answers: the network 16 times, each
//                                          after a pause in which the CPU would choose the token
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>
#include <fstream>

#include "arrivals.h"
#include "blocking_wait.h"
#include "clock.h"
#include "end_requested.h"
#include "hip_call.h"
#include "layers.h"
#include "options.h"

constexpr unsigned kTile = 16;
constexpr unsigned kInputs = 16;  // different ones, used in turn
constexpr unsigned kWarmUps = 3;  // the first launches load code

struct Settings {
  unsigned requests, batch, width, layers, kernels, burst, seed, tokens, pause_us;
  double interval_ms;
  bool graph, high_priority;
  std::string arrivals, trace, json;
};

// A network of equally wide layers: each is its input times a square matrix, then relu.
class Network {
 public:
  explicit Network(const Settings& settings)
      : settings_(settings), values_(settings.batch * settings.width) {
    int lowest = 0, highest = 0;
    HIP(hipDeviceGetStreamPriorityRange(&lowest, &highest));
    HIP(hipStreamCreateWithPriority(&stream_, hipStreamNonBlocking,
                                    settings.high_priority ? highest : 0));
    HIP(hipEventCreateWithFlags(&answered_, hipEventBlockingSync | hipEventDisableTiming));
    const std::size_t weights = std::size_t{settings.width} * settings.width;
    for (unsigned i = 0; i < weights; i++) {  // sums stay about as large as their terms
      host_weights_.push_back((static_cast<float>(i * 7919 % 61) - 30) /
                              (8 * std::sqrt(static_cast<float>(settings.width))));
    }
    HIP(hipMalloc(reinterpret_cast<void**>(&weights_), weights * sizeof(float)));
    HIP(hipMemcpy(weights_, host_weights_.data(), weights * sizeof(float), hipMemcpyHostToDevice));
    // The GPU reads requests from and writes answers to the host's memory: no copies in between.
    HIP(hipHostMalloc(reinterpret_cast<void**>(&input_), values_ * sizeof(float)));
    HIP(hipHostMalloc(reinterpret_cast<void**>(&output_), values_ * sizeof(float)));
    for (float*& buffer : between_) {
      HIP(hipMalloc(reinterpret_cast<void**>(&buffer), values_ * sizeof(float)));
    }
    for (unsigned which = 0; which < kInputs; which++) {
      answers_.push_back(answer_of_host(which));
    }
    HIP(hipDeviceSynchronize());
    if (settings.graph) {
      capture();
    }
  }

  // False if the answer is wrong.
  bool answer(unsigned request) {
    const unsigned which = request % kInputs;
    fill_input(input_, which);
    if (settings_.graph) {
      HIP(hipGraphLaunch(graph_, stream_));
    } else {
      launch();
    }
    HIP(hipEventRecord(answered_, stream_));
    wait_for(answered_, 50'000);
    return std::memcmp(output_, answers_[which].data(), values_ * sizeof(float)) == 0;
  }

 private:
  void fill_input(float* values, unsigned which) const {
    for (std::size_t i = 0; i < values_; i++) {
      values[i] = static_cast<float>((i * 13 + which * 7) % 29) / 14 - 1;
    }
  }

  // In the GPU's order of additions: the same bits.
  std::vector<float> answer_of_host(unsigned which) const {
    const unsigned width = settings_.width;
    std::vector<float> in(values_), out(values_);
    fill_input(out.data(), which);
    for (unsigned layer = 0; layer < settings_.layers; layer++) {
      in.swap(out);
      for (std::size_t i = 0; i < values_; i++) {
        float sum = 0;
        for (unsigned k = 0; k < width; k++) {
          sum = std::fma(in[i / width * width + k], host_weights_[k * width + i % width], sum);
        }
        out[i] = std::max(sum, 0.0f);
      }
    }
    return out;
  }

  void launch() const {
    const Settings& s = settings_;
    const Matrix weights = Matrix::of(weights_, s.width, s.width);
    for (unsigned layer = 0; layer < s.layers; layer++) {
      float* const from = layer == 0 ? input_ : between_[layer % 2];
      float* const to = layer + 1 == s.layers ? output_ : between_[(layer + 1) % 2];
      const Matrix result = Matrix::of(to, s.batch, s.width);
      launch_multiply<Then::relu, kTile>(Matrix::of(from, s.batch, s.width), weights, result,
                                         result, s.kernels, stream_);
    }
  }

  void capture() {
    hipGraph_t graph;
    HIP(hipStreamBeginCapture(stream_, hipStreamCaptureModeGlobal));
    launch();
    HIP(hipStreamEndCapture(stream_, &graph));
    HIP(hipGraphInstantiate(&graph_, graph, nullptr, nullptr, 0));
  }

  const Settings settings_;
  const std::size_t values_;
  hipStream_t stream_{};
  hipEvent_t answered_{};
  hipGraphExec_t graph_{};
  std::vector<float> host_weights_;
  float *weights_ = nullptr, *input_ = nullptr, *output_ = nullptr, *between_[2] = {};
  std::vector<std::vector<float>> answers_;
};

static Settings settings_of(int argc, char** argv) {
  Options options(argc, argv,
                  "server [REQUESTS [INTERVAL_MS]] [--arrivals fixed|poisson|bursts] [--burst N] "
                  "[--seed N] [--trace FILE] [--batch N] [--width N] [--layers N] [--kernels N] "
                  "[--graph] [--high-priority] [--tokens N] [--pause-us N] [--json FILE]");
  Settings settings{};
  settings.arrivals = options.text("--arrivals", "fixed");
  settings.burst = options.number("--burst", 10);
  settings.seed = options.number("--seed", 1, 0);
  settings.trace = options.text("--trace");
  settings.batch = options.number("--batch", 1);
  settings.width = options.number("--width", 64);
  settings.layers = options.number("--layers", 4);
  settings.kernels = options.number("--kernels", 1);
  settings.graph = options.flag("--graph");
  settings.high_priority = options.flag("--high-priority");
  settings.tokens = options.number("--tokens", 1);
  settings.pause_us = options.number("--pause-us", 0, 0);
  settings.json = options.text("--json");
  settings.requests = options.positional(100);
  settings.interval_ms = options.positional(50);
  options.finish();
  if (settings.arrivals != "fixed" && settings.arrivals != "poisson" &&
      settings.arrivals != "bursts") {
    options.fail("--arrivals " + settings.arrivals);
  }
  return settings;
}

static Arrivals arrivals_of(const Settings& settings) {
  const double interval_us = 1000 * settings.interval_ms;
  if (!settings.trace.empty()) {
    std::ifstream file(settings.trace);
    unsigned line = 0;
    const std::optional<Arrivals> arrivals = traced_arrivals(file, &line);
    if (!file.eof() || !arrivals || arrivals->empty()) {
      std::fprintf(stderr, "%s:%u: no arrivals that can be read\n", settings.trace.c_str(), line);
      std::exit(1);
    }
    return *arrivals;
  }
  if (settings.arrivals == "poisson") {
    return poisson_arrivals(settings.requests, interval_us, settings.seed);
  }
  return settings.arrivals == "bursts"
             ? burst_arrivals(settings.requests, interval_us, settings.burst)
             : fixed_arrivals(settings.requests, interval_us);
}

// What part `q` of the requests were answered within, in milliseconds.
static double quantile_ms(std::vector<std::uint64_t> latencies, double q) {
  std::sort(latencies.begin(), latencies.end());
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(latencies.size())));
  return static_cast<double>(latencies[std::max<std::size_t>(rank, 1) - 1]) / 1000;
}

static bool write_json(const std::string& path, std::uint64_t start_us, const Arrivals& arrivals,
                       const std::vector<std::uint64_t>& latencies) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    return false;
  }
  std::fprintf(file,
               "{\"schema_version\": 1, \"hip_runtime\": \"%s\", \"start_us\": %" PRIu64
               ",\n \"requests\": [",
               hip_runtime_version().c_str(), start_us);
  for (std::size_t i = 0; i < latencies.size(); i++) {
    std::fprintf(file, "%s\n  {\"arrival_us\": %" PRIu64 ", \"latency_us\": %" PRIu64 "}",
                 i == 0 ? "" : ",", arrivals[i], latencies[i]);
  }
  std::fprintf(file, "\n ]}\n");
  return std::fclose(file) == 0;
}

int main(int argc, char** argv) {
  const Settings settings = settings_of(argc, argv);
  const Arrivals arrivals = arrivals_of(settings);
  listen_for_end();
  HIP(hipSetDeviceFlags(hipDeviceScheduleBlockingSync));
  Network network(settings);
  bool right = true;
  for (unsigned i = 0; i < kWarmUps; i++) {
    right &= network.answer(i);
  }
  std::printf("ready\n");
  std::fflush(stdout);

  const std::uint64_t start = monotonic_us();
  std::vector<std::uint64_t> latencies;
  for (unsigned request = 0; request < arrivals.size() && right; request++) {
    sleep_until_us(start + arrivals[request]);
    if (end_requested()) {
      break;
    }
    right = network.answer(request);
    for (unsigned token = 1; token < settings.tokens && right; token++) {
      sleep_until_us(monotonic_us() + settings.pause_us);
      right = network.answer(request + token);
    }
    latencies.push_back(monotonic_us() - start - arrivals[request]);
    std::printf("request %u us %" PRIu64 "\n", request + 1, latencies.back());
    std::fflush(stdout);
  }
  if (!right) {
    std::fprintf(stderr, "a wrong answer, after %zu requests\n", latencies.size());
    return 1;
  }
  if (!latencies.empty()) {
    std::printf("requests %zu p50 %.3f ms p99 %.3f ms max %.3f ms\n", latencies.size(),
                quantile_ms(latencies, 0.5), quantile_ms(latencies, 0.99),
                quantile_ms(latencies, 1));
  }
  if (!settings.json.empty() && !write_json(settings.json, start, arrivals, latencies)) {
    std::perror(settings.json.c_str());
    return 1;
  }
  return 0;
}
