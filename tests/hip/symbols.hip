// TEST: device globals and constants are reached by kernels and by copies to and from symbols
// BUILDS: O2 O0
#include "check.h"

__device__ u32 counter = 5;
__device__ u64 table[100];
__constant__ float factors[16];
__device__ const u32 kPrimes[6] = {2, 3, 5, 7, 11, 13};

__global__ void use(float* out) {
  const u32 i = global_thread();
  atomicAdd(&counter, 1u);
  if (i < 100)
    table[i] += i * u64{kPrimes[i % 6]};
  out[i] = factors[i % 16] * static_cast<float>(i);
}

int main() {
  std::vector<u64> initial(100), final_table(100);
  for (u64 i = 0; i < 100; i++) initial[i] = i << 40;
  std::vector<float> host_factors(16);
  for (u32 i = 0; i < 16; i++) host_factors[i] = 0.25f * static_cast<float>(i);
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(table), initial.data(), 800));
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(factors), host_factors.data(), 64));

  DeviceArray<float> out(256);
  use<<<2, 128>>>(out);
  finish();
  u32 count = 0;
  HIP(hipMemcpyFromSymbol(&count, HIP_SYMBOL(counter), 4));
  EXPECT(count == 5 + 256, "counter is %u", count);
  HIP(hipMemcpyFromSymbol(final_table.data(), HIP_SYMBOL(table), 800));
  constexpr u32 kHostPrimes[6] = {2, 3, 5, 7, 11, 13};
  for (u64 i = 0; i < 100; i++) initial[i] += i * kHostPrimes[i % 6];
  expect_equal(final_table, initial, "table");
  const auto got = out.read();
  for (u32 i = 0; i < 256; i++) {
    EXPECT(got[i] == host_factors[i % 16] * static_cast<float>(i), "out[%u] is %g", i, got[i]);
  }

  void* address;
  size_t size;
  HIP(hipGetSymbolAddress(&address, HIP_SYMBOL(table)));
  HIP(hipGetSymbolSize(&size, HIP_SYMBOL(table)));
  EXPECT(size == 800, "the table has %zu bytes", size);
  u64 element;
  HIP(hipMemcpy(&element, static_cast<u64*>(address) + 42, 8, hipMemcpyDeviceToHost));
  EXPECT(element == initial[42], "the table's address is another");
  return pass("symbols");
}
