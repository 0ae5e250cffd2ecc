// One layer of a neural network by MIOpen against the CPU: a convolution forward, and backward to
// its input and to its weights, by the first solutions that MIOpen offers and can run. Debian's
// packages lack the sources of some kernels, for which MIOpen returns an error; such a solution is
// told of and not counted, but one at least must work for each pass. Elements are small whole
// numbers; solutions that transform them (Winograd's) round.
#include <hip/hip_runtime.h>
#include <miopen/miopen.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

#define HIP(call) check((call) == hipSuccess, #call)
#define MIOPEN(call) check((call) == miopenStatusSuccess, #call)
void check(bool is_good, const char* call) {
  if (!is_good) {
    std::fprintf(stderr, "%s failed\n", call);
    std::exit(1);
  }
}

constexpr int kImages = 2, kIn = 4, kOut = 8, kSize = 9, kFilter = 3, kPad = 1;
constexpr size_t kMostSolutions = 32;  // that are offered
constexpr int kTried = 3;
constexpr float kGuard = 77;
constexpr size_t kGuards = 64;  // elements before and behind each tensor

// Four dimensions, on the GPU and here, with guard elements around it.
class Tensor {
 public:
  Tensor(int n, int c, int h, int w)
      : c_(c), h_(h), w_(w), size_(static_cast<size_t>(n) * c * h * w), values_(size_) {
    MIOPEN(miopenCreateTensorDescriptor(&descriptor));
    MIOPEN(miopenSet4dTensorDescriptor(descriptor, miopenFloat, n, c, h, w));
    HIP(hipMalloc(reinterpret_cast<void**>(&memory_), (size_ + 2 * kGuards) * sizeof(float)));
  }
  float& at(int n, int c, int h, int w) {
    return values_[((static_cast<size_t>(n) * c_ + c) * h_ + h) * w_ + w];
  }
  void fill(std::mt19937& random) {
    for (float& value : values_) {
      value = static_cast<float>(std::uniform_int_distribution<int>(-2, 2)(random));
    }
  }
  void* memory() { return memory_ + kGuards; }
  void write(bool with_values) {
    std::vector<float> all(size_ + 2 * kGuards, kGuard);
    if (with_values) {
      std::copy(values_.begin(), values_.end(), all.begin() + kGuards);
    }
    HIP(hipMemcpy(memory_, all.data(), all.size() * sizeof(float), hipMemcpyHostToDevice));
  }
  bool is_on_gpu() {
    std::vector<float> all(size_ + 2 * kGuards);
    HIP(hipMemcpy(all.data(), memory_, all.size() * sizeof(float), hipMemcpyDeviceToHost));
    for (size_t i = 0; i < all.size(); ++i) {
      const bool is_guard = i < kGuards || i >= kGuards + size_;
      const float should = is_guard ? kGuard : values_[i - kGuards];
      if (!(std::fabs(all[i] - should) <= (is_guard ? 0 : 1e-3f * (1 + std::fabs(should))))) {
        std::fprintf(stderr, "  element %zd%s is %g, not %g\n", static_cast<ssize_t>(i - kGuards),
                     is_guard ? ", a guard," : "", all[i], should);
        return false;
      }
    }
    return true;
  }

  miopenTensorDescriptor_t descriptor = nullptr;

 private:
  int c_, h_, w_;
  size_t size_;
  std::vector<float> values_;
  float* memory_ = nullptr;
};

// Calls visit(image, in, out, y, x, input y, input x, filter y, filter x) for all that is
// multiplied.
template <class Visit>
void for_each_product(Visit visit) {
  for (int n = 0; n < kImages; ++n)
    for (int k = 0; k < kOut; ++k)
      for (int c = 0; c < kIn; ++c)
        for (int y = 0; y < kSize; ++y)
          for (int x = 0; x < kSize; ++x)
            for (int fy = 0; fy < kFilter; ++fy)
              for (int fx = 0; fx < kFilter; ++fx) {
                const int iy = y + fy - kPad, ix = x + fx - kPad;
                if (iy >= 0 && iy < kSize && ix >= 0 && ix < kSize) {
                  visit(n, c, k, y, x, iy, ix, fy, fx);
                }
              }
}

// The three passes have calls of the same form: two tensors are read, one is written.
struct Pass {
  const char* name;
  decltype(&miopenConvolutionForwardGetSolution) solutions;
  decltype(&miopenConvolutionForwardImmediate) run;
  Tensor &first, &second, &result;
};

int wrong = 0, count = 0;

void try_solutions(miopenHandle_t handle, miopenConvolutionDescriptor_t convolution,
                   const Pass& pass) {
  miopenConvSolution_t solutions[kMostSolutions];
  size_t found = 0;
  MIOPEN(pass.solutions(handle, pass.first.descriptor, pass.second.descriptor, convolution,
                        pass.result.descriptor, kMostSolutions, &found, solutions));
  int ran = 0;
  for (size_t i = 0; i < found && ran < kTried; ++i) {
    const miopenConvSolution_t& solution = solutions[i];
    void* workspace = nullptr;
    if (solution.workspace_size > 0) {
      HIP(hipMalloc(&workspace, solution.workspace_size));
    }
    pass.result.write(false);
    const miopenStatus_t status =
        pass.run(handle, pass.first.descriptor, pass.first.memory(), pass.second.descriptor,
                 pass.second.memory(), convolution, pass.result.descriptor, pass.result.memory(),
                 workspace, solution.workspace_size, solution.solution_id);
    HIP(hipDeviceSynchronize());
    HIP(hipFree(workspace));
    std::printf("%s, solution %lu: ", pass.name, static_cast<unsigned long>(solution.solution_id));
    if (status != miopenStatusSuccess) {
      std::printf("not to be had, status %d\n", status);
      continue;
    }
    const bool is_right = pass.result.is_on_gpu();
    std::printf("%s\n", is_right ? "right" : "WRONG");
    ++ran;
    wrong += is_right ? 0 : 1;
  }
  check(ran > 0, pass.name);
  count += ran;
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // in order with what MIOpen says
  miopenHandle_t handle;
  MIOPEN(miopenCreate(&handle));
  miopenConvolutionDescriptor_t convolution;
  MIOPEN(miopenCreateConvolutionDescriptor(&convolution));
  MIOPEN(miopenInitConvolutionDescriptor(convolution, miopenConvolution, kPad, kPad, 1, 1, 1, 1));

  Tensor x(kImages, kIn, kSize, kSize), w(kOut, kIn, kFilter, kFilter);
  Tensor y(kImages, kOut, kSize, kSize), dy(kImages, kOut, kSize, kSize);
  Tensor dx(kImages, kIn, kSize, kSize), dw(kOut, kIn, kFilter, kFilter);
  std::mt19937 random(1);
  for (Tensor* tensor : {&x, &w, &dy}) {
    tensor->fill(random);
    tensor->write(true);
  }
  for_each_product([&](int n, int c, int k, int oy, int ox, int iy, int ix, int fy, int fx) {
    y.at(n, k, oy, ox) += x.at(n, c, iy, ix) * w.at(k, c, fy, fx);
    dx.at(n, c, iy, ix) += dy.at(n, k, oy, ox) * w.at(k, c, fy, fx);
    dw.at(k, c, fy, fx) += dy.at(n, k, oy, ox) * x.at(n, c, iy, ix);
  });

  try_solutions(
      handle, convolution,
      {"forward", miopenConvolutionForwardGetSolution, miopenConvolutionForwardImmediate, w, x, y});
  try_solutions(handle, convolution,
                {"backward to the input", miopenConvolutionBackwardDataGetSolution,
                 miopenConvolutionBackwardDataImmediate, dy, w, dx});
  try_solutions(handle, convolution,
                {"backward to the weights", miopenConvolutionBackwardWeightsGetSolution,
                 miopenConvolutionBackwardWeightsImmediate, dy, x, dw});
  std::printf("%d of %d solutions right\n", count - wrong, count);
  return wrong == 0 ? 0 : 1;
}
