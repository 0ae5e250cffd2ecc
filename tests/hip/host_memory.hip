// TEST: kernels read and write pinned, mapped and registered host memory
#include "check.h"

__global__ void twice(const u32* in, u32* out, u32 count) {
  const u32 i = global_thread();
  if (i < count)
    out[i] = in[i] * 2 + 1;
}

static void run(const u32* in, u32* out, u32 count) {
  twice<<<(count + 63) / 64, 64>>>(in, out, count);
  finish();
}

static void check(const u32* in, const u32* out, u32 count, const char* what) {
  for (u32 i = 0; i < count; i++) {
    EXPECT(out[i] == in[i] * 2 + 1, "%s[%u] is %u", what, i, out[i]);
  }
}

int main() {
  constexpr u32 kCount = 5000;
  u32 *in, *out;
  HIP(hipHostMalloc(reinterpret_cast<void**>(&in), kCount * 4));
  HIP(hipHostMalloc(reinterpret_cast<void**>(&out), kCount * 4, hipHostMallocMapped));
  for (u32 i = 0; i < kCount; i++) in[i] = i * 7;
  run(in, out, kCount);
  check(in, out, kCount, "pinned");

  u32* coherent;
  HIP(hipHostMalloc(reinterpret_cast<void**>(&coherent), kCount * 4, hipHostMallocCoherent));
  run(in, coherent, kCount);
  check(in, coherent, kCount, "coherent");

  // Registered memory has another address on the device; what the host wrote before stays.
  std::vector<u32> own_in = random_integers<u32>(kCount), own_out(kCount, 99);
  const std::vector<u32> before = own_in;
  HIP(hipHostRegister(own_in.data(), kCount * 4, hipHostRegisterMapped));
  HIP(hipHostRegister(own_out.data(), kCount * 4, hipHostRegisterMapped));
  EXPECT(own_in == before, "registering changed the memory");
  void *device_in, *device_out;
  HIP(hipHostGetDevicePointer(&device_in, own_in.data(), 0));
  HIP(hipHostGetDevicePointer(&device_out, own_out.data(), 0));
  run(static_cast<u32*>(device_in), static_cast<u32*>(device_out), kCount);
  check(own_in.data(), own_out.data(), kCount, "registered");
  HIP(hipHostUnregister(own_in.data()));
  HIP(hipHostUnregister(own_out.data()));
  EXPECT(own_in == before, "unregistering changed the memory");
  check(own_in.data(), own_out.data(), kCount, "after unregister");

  HIP(hipHostFree(in));
  HIP(hipHostFree(out));
  HIP(hipHostFree(coherent));
  return pass("host memory");
}
