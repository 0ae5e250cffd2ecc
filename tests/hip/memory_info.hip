// TEST: free memory falls with an allocation and comes back, also after a process that leaked it
#include "processes.h"

static size_t free_memory(size_t* total = nullptr) {
  size_t available, all;
  HIP(hipMemGetInfo(&available, &all));
  if (total != nullptr)
    *total = all;
  return available;
}

static int leak() {
  void* memory;
  HIP(hipMalloc(&memory, size_t{1} << 30));
  return 0;
}

// 4 GiB of VRAM: three processes in turn could not each have 1.5 GiB if the leak stayed.
static int use_most() {
  void* memory;
  HIP(hipMalloc(&memory, size_t{3} << 30));
  HIP(hipMemset(static_cast<char*>(memory) + (size_t{3} << 30) - 4096, 7, 4096));
  HIP(hipFree(memory));
  return 0;
}

static int measure() {
  size_t total;
  const size_t before = free_memory(&total);
  EXPECT(total > (size_t{3} << 30) && total <= (size_t{4} << 30), "total is %zu", total);
  void* memory;
  HIP(hipMalloc(&memory, 512 << 20));
  const size_t during = free_memory();
  EXPECT(before - during >= (512u << 20), "free memory fell by %zu", before - during);
  HIP(hipFree(memory));
  EXPECT(free_memory() > during, "free memory did not come back");
  return 0;
}

int main() {
  EXPECT(wait_for(start_process(measure)) == 0, "measuring failed");
  for (int i = 0; i < 5; i++) EXPECT(wait_for(start_process(leak)) == 0, "leaking failed");
  EXPECT(wait_for(start_process(use_most)) == 0, "the memory was not freed");
  return pass("memory info");
}
