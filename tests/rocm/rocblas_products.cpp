// Matrix products of rocBLAS against the CPU: C = alpha op(A) op(B) + beta C for all types, for
// transposed and conjugated operands, for shapes that no tile divides. Elements are small whole
// numbers, so that every sum is exact in every type and a result is right or wrong, not near.
// Around C, and between its columns, are guard elements that must stay what they were.
//
//   rocblas_products            prints the number of products; what is wrong on stderr
#include <hip/hip_runtime.h>
#include <rocblas/rocblas.h>

#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace {

using Value = std::complex<double>;
using Values = std::vector<Value>;  // of a matrix, column by column

#define HIP(call) check((call) == hipSuccess, #call)
#define ROCBLAS(call) check((call) == rocblas_status_success, #call)
void check(bool is_good, const char* call) {
  if (!is_good) {
    std::fprintf(stderr, "%s failed\n", call);
    std::exit(1);
  }
}

// How an element lies in memory.
struct Format {
  rocblas_datatype type;
  size_t size;
  bool is_complex;
  void (*store)(const Value&, void*);
  Value (*load)(const void*);
};

template <class Number>
void store_number(const Value& value, void* to) {
  const auto number = static_cast<Number>(value.real());
  std::memcpy(to, &number, sizeof number);
}
template <class Number>
Value load_number(const void* from) {
  Number number;
  std::memcpy(&number, from, sizeof number);
  return static_cast<double>(number);
}
template <class Number>
void store_complex(const Value& value, void* to) {
  const std::complex<Number> number(value);
  std::memcpy(to, &number, sizeof number);
}
template <class Number>
Value load_complex(const void* from) {
  std::complex<Number> number;
  std::memcpy(&number, from, sizeof number);
  return Value(number);
}
// The upper half of a float; the numbers here need no more.
void store_bfloat(const Value& value, void* to) {
  const auto number = static_cast<float>(value.real());
  std::memcpy(to, reinterpret_cast<const char*>(&number) + 2, 2);
}
Value load_bfloat(const void* from) {
  float number = 0;
  std::memcpy(reinterpret_cast<char*>(&number) + 2, from, 2);
  return number;
}

template <class Number>
constexpr Format plain(rocblas_datatype type) {
  return {type, sizeof(Number), false, store_number<Number>, load_number<Number>};
}
template <class Number>
constexpr Format complex(rocblas_datatype type) {
  return {type, 2 * sizeof(Number), true, store_complex<Number>, load_complex<Number>};
}
constexpr Format kF16 = plain<_Float16>(rocblas_datatype_f16_r);
constexpr Format kF32 = plain<float>(rocblas_datatype_f32_r);
constexpr Format kF64 = plain<double>(rocblas_datatype_f64_r);
constexpr Format kC32 = complex<float>(rocblas_datatype_f32_c);
constexpr Format kC64 = complex<double>(rocblas_datatype_f64_c);
constexpr Format kI8 = plain<int8_t>(rocblas_datatype_i8_r);
constexpr Format kI32 = plain<int32_t>(rocblas_datatype_i32_r);
constexpr Format kBf16 = {rocblas_datatype_bf16_r, 2, false, store_bfloat, load_bfloat};

struct Types {
  const char* name;
  Format in, out, compute;
};
constexpr Types kTypes[] = {
    {"f16", kF16, kF16, kF16},          {"f16, computed in f32", kF16, kF16, kF32},
    {"f16 to f32", kF16, kF32, kF32},   {"bf16", kBf16, kBf16, kF32},
    {"bf16 to f32", kBf16, kF32, kF32}, {"f32", kF32, kF32, kF32},
    {"f64", kF64, kF64, kF64},          {"complex f32", kC32, kC32, kC32},
    {"complex f64", kC64, kC64, kC64},  {"i8 to i32", kI8, kI32, kI32},
};

struct Shape {
  int m, n, k;
};
constexpr Shape kShapes[] = {{1, 1, 1},    {7, 13, 5},    {33, 65, 17},
                             {64, 64, 64}, {127, 31, 66}, {5, 130, 129}};

struct Factors {
  double alpha, beta;
};
constexpr Factors kFactors[] = {{1, 0}, {2, -1}};

constexpr size_t kGuards = 64;  // elements before and behind a matrix
constexpr int kGap = 3;         // elements between its columns
constexpr double kGuard = 77;

// A matrix with guards around it.
class Matrix {
 public:
  Matrix(const Format& format, int rows, int columns)
      : format_(format), rows_(rows), columns_(columns), values_(size(), kGuard) {}

  int leading() const { return rows_ + kGap; }
  size_t size() const { return 2 * kGuards + static_cast<size_t>(leading()) * columns_; }
  Value& at(int row, int column) {
    return values_[kGuards + static_cast<size_t>(column) * leading() + row];
  }
  const Value& at(int row, int column) const { return const_cast<Matrix*>(this)->at(row, column); }
  void fill(std::mt19937& random, int largest) {
    std::uniform_int_distribution<int> number(-largest, largest);
    for (int column = 0; column < columns_; ++column) {
      for (int row = 0; row < rows_; ++row) {
        at(row, column) = Value(number(random), format_.is_complex ? number(random) : 0);
      }
    }
  }

  std::vector<char> stored() const {
    std::vector<char> bytes(size() * format_.size);
    for (size_t i = 0; i < size(); ++i) {
      format_.store(values_[i], &bytes[i * format_.size]);
    }
    return bytes;
  }
  // The first element that is not as it should be; -1 if all are.
  long first_difference(const std::vector<char>& bytes) const {
    for (size_t i = 0; i < size(); ++i) {
      if (format_.load(&bytes[i * format_.size]) != values_[i]) {
        return static_cast<long>(i);
      }
    }
    return -1;
  }
  bool is_guard(long index) const {
    const long place = index - static_cast<long>(kGuards);
    return place < 0 || place >= static_cast<long>(leading()) * columns_ ||
           place % leading() >= rows_;
  }
  Value value(long index) const { return values_[static_cast<size_t>(index)]; }
  const Format& format() const { return format_; }

 private:
  const Format& format_;
  int rows_, columns_;
  Values values_;
};

class OnDevice {
 public:
  explicit OnDevice(const Matrix& matrix) : bytes_(matrix.stored()), size_(matrix.format().size) {
    HIP(hipMalloc(&memory_, bytes_.size()));
    HIP(hipMemcpy(memory_, bytes_.data(), bytes_.size(), hipMemcpyHostToDevice));
  }
  ~OnDevice() { (void)hipFree(memory_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  void* first() const { return static_cast<char*>(memory_) + kGuards * size_; }
  std::vector<char> read() {
    HIP(hipMemcpy(bytes_.data(), memory_, bytes_.size(), hipMemcpyDeviceToHost));
    return bytes_;
  }

 private:
  std::vector<char> bytes_;
  size_t size_;
  void* memory_ = nullptr;
};

// An element of op(matrix).
Value element(const Matrix& matrix, rocblas_operation operation, int row, int column) {
  if (operation == rocblas_operation_none) {
    return matrix.at(row, column);
  }
  const Value value = matrix.at(column, row);
  return operation == rocblas_operation_transpose ? value : std::conj(value);
}

struct Product {
  Types types;
  rocblas_operation a, b;
  Shape shape;
  Factors factors;
};

Matrix operand(const Product& product, rocblas_operation operation, int rows, int columns) {
  const bool is_plain = operation == rocblas_operation_none;
  return {product.types.in, is_plain ? rows : columns, is_plain ? columns : rows};
}

void multiply_here(const Product& product, const Matrix& a, const Matrix& b, Matrix& c) {
  const auto [m, n, k] = product.shape;
  for (int column = 0; column < n; ++column) {
    for (int row = 0; row < m; ++row) {
      Value sum = 0;
      for (int i = 0; i < k; ++i) {
        sum += element(a, product.a, row, i) * element(b, product.b, i, column);
      }
      c.at(row, column) = product.factors.alpha * sum + product.factors.beta * c.at(row, column);
    }
  }
}

rocblas_status multiply(rocblas_handle handle, const Product& product, const Matrix& a,
                        const Matrix& b, const Matrix& c, OnDevice& on_a, OnDevice& on_b,
                        OnDevice& on_c) {
  const auto& [m, n, k] = product.shape;
  const Format &in = product.types.in, &out = product.types.out, &compute = product.types.compute;
  char alpha[16], beta[16];
  compute.store(product.factors.alpha, alpha);
  compute.store(product.factors.beta, beta);
  return rocblas_gemm_ex(handle, product.a, product.b, m, n, k, alpha, on_a.first(), in.type,
                         a.leading(), on_b.first(), in.type, b.leading(), beta, on_c.first(),
                         out.type, c.leading(), on_c.first(), out.type, c.leading(), compute.type,
                         rocblas_gemm_algo_standard, 0, 0);
}

char letter(rocblas_operation operation) {
  return operation == rocblas_operation_none        ? 'N'
         : operation == rocblas_operation_transpose ? 'T'
                                                    : 'C';
}

bool is_right(rocblas_handle handle, const Product& product, std::mt19937& random) {
  const auto [m, n, k] = product.shape;
  Matrix a = operand(product, product.a, m, k), b = operand(product, product.b, k, n);
  Matrix c(product.types.out, m, n);
  a.fill(random, 1);
  b.fill(random, 2);
  c.fill(random, 2);
  OnDevice on_a(a), on_b(b), on_c(c);
  multiply_here(product, a, b, c);
  const rocblas_status status = multiply(handle, product, a, b, c, on_a, on_b, on_c);
  const std::vector<char> result = on_c.read();
  const long wrong = status == rocblas_status_success ? c.first_difference(result) : 0;
  if (wrong < 0) {
    return true;
  }
  const Value is = c.format().load(&result[static_cast<size_t>(wrong) * c.format().size]);
  const Value should = c.value(wrong);
  std::fprintf(
      stderr, "%s %c%c %dx%dx%d, alpha %g, beta %g: %s; element %ld%s is %g%+gi, not %g%+gi\n",
      product.types.name, letter(product.a), letter(product.b), m, n, k, product.factors.alpha,
      product.factors.beta, rocblas_status_to_string(status), wrong,
      c.is_guard(wrong) ? ", a guard," : "", is.real(), is.imag(), should.real(), should.imag());
  return false;
}

}  // namespace

int main() {
  rocblas_handle handle;
  ROCBLAS(rocblas_create_handle(&handle));
  std::mt19937 random(1);
  int count = 0, wrong = 0;
  for (const Types& types : kTypes) {
    std::vector<rocblas_operation> operations = {rocblas_operation_none,
                                                 rocblas_operation_transpose};
    if (types.in.is_complex) {
      operations.push_back(rocblas_operation_conjugate_transpose);
    }
    for (const rocblas_operation a : operations) {
      for (const rocblas_operation b : operations) {
        for (const Shape& shape : kShapes) {
          for (const Factors& factors : kFactors) {
            ++count;
            wrong += is_right(handle, {types, a, b, shape, factors}, random) ? 0 : 1;
          }
        }
      }
    }
  }
  std::printf("%d of %d products exact\n", count - wrong, count);
  ROCBLAS(rocblas_destroy_handle(handle));
  return wrong == 0 ? 0 : 1;
}
