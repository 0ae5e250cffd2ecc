// TEST: device functions are called, through pointers and virtual tables too, with a stack
// BUILDS: O2 O0
#include "check.h"

struct Shape {
  __device__ virtual u32 area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  u32 side;
  __device__ explicit Square(u32 s) : side(s) {}
  __device__ u32 area() const override { return side * side; }
};
struct Rectangle : Shape {
  u32 a, b;
  __device__ Rectangle(u32 x, u32 y) : a(x), b(y) {}
  __device__ u32 area() const override { return a * b; }
};

__device__ __noinline__ u32 collatz_steps(u32 n) {
  u32 steps = 0;
  while (n != 1) {
    n = (n % 2 == 0) ? n / 2 : 3 * n + 1;
    steps++;
  }
  return steps;
}

__device__ __noinline__ u32 mix(u32 a, u32 b, u32 c, u32 d, u64 e, float f, const u32* table) {
  return a ^ (b << 3) ^ (c >> 2) ^ (d * 5) ^ static_cast<u32>(e >> 32) ^ static_cast<u32>(f) ^
         table[a % 8];
}

__device__ __noinline__ u32 plus_one(u32 x) { return x + 1; }
__device__ __noinline__ u32 times_three(u32 x) { return x * 3; }
using Operation = u32 (*)(u32);

__global__ void call(u32* out) {
  const u32 i = global_thread();
  u32 table[8];
  for (u32 k = 0; k < 8; k++) table[(k + i) % 8] = k * i;
  u32 sum = mix(i, i + 1, i + 2, i + 3, u64{i} << 33, i * 1.5f, table);
  sum += collatz_steps(i + 1);
  Operation operation = (i % 2 != 0) ? plus_one : times_three;
  sum = operation(sum);
  const Square square(i);
  const Rectangle rectangle(i, 7);
  const Shape* shape = (i % 3 == 0) ? static_cast<const Shape*>(&square) : &rectangle;
  out[i] = sum + shape->area();
}

static u32 on_host(u32 i) {
  u32 table[8];
  for (u32 k = 0; k < 8; k++) table[(k + i) % 8] = k * i;
  u32 sum = i ^ ((i + 1) << 3) ^ ((i + 2) >> 2) ^ ((i + 3) * 5) ^
            static_cast<u32>((u64{i} << 33) >> 32) ^ static_cast<u32>(i * 1.5f) ^ table[i % 8];
  u32 n = i + 1, steps = 0;
  while (n != 1) {
    n = (n % 2 == 0) ? n / 2 : 3 * n + 1;
    steps++;
  }
  sum += steps;
  sum = (i % 2 != 0) ? sum + 1 : sum * 3;
  return sum + ((i % 3 == 0) ? i * i : i * 7);
}

int main() {
  constexpr u32 kThreads = 300;
  DeviceArray<u32> out(kThreads);
  call<<<3, 100>>>(out);
  finish();
  std::vector<u32> want(kThreads);
  for (u32 i = 0; i < kThreads; i++) want[i] = on_host(i);
  expect_equal(out.read(), want, "out");
  return pass("device function calls");
}
