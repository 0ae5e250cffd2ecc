// TEST: the device describes itself as the hardware of its profile
#include <string>

#include "check.h"

int main() {
  int count;
  HIP(hipGetDeviceCount(&count));
  EXPECT(count == 1, "%d devices", count);
  hipDeviceProp_t p;
  HIP(hipGetDeviceProperties(&p, 0));
  const std::string arch = p.gcnArchName;
  EXPECT(arch.starts_with("gfx90a") || arch.starts_with("gfx906"), "the arch is %s", p.gcnArchName);
  EXPECT(p.warpSize == 64, "wave size %d", p.warpSize);
  EXPECT(p.multiProcessorCount == 8, "%d CUs", p.multiProcessorCount);
  EXPECT(p.sharedMemPerBlock == 65536, "%zu bytes of LDS", p.sharedMemPerBlock);
  EXPECT(p.maxThreadsPerBlock == 1024, "blocks of %d threads", p.maxThreadsPerBlock);
  EXPECT(p.totalGlobalMem > (size_t{3} << 30), "%zu bytes of memory", p.totalGlobalMem);
  EXPECT(p.name[0] != '\0', "the device has no name");
  return pass("device properties");
}
