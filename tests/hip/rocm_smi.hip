// TEST: librocm_smi64 and rocm-smi see the GPUs, memory in use, how busy they are and who uses them
// RUN:
// RUN: --gpus 2
// LINK: -ldl
#include <dlfcn.h>

#include <string>

#include "preempt_counter.h"

// As the library's own header has it, for machines without that header.
struct ProcessInfo {
  u32 process_id, pasid;
  u64 vram_usage, sdma_usage;
  u32 cu_occupancy;
};
constexpr u32 kVram = 0, kEdge = 0, kCurrent = 0, kNotSupported = 2;

template <class Function>
Function* function(void* library, const char* name) {
  auto* found = reinterpret_cast<Function*>(dlsym(library, name));
  EXPECT(found != nullptr, "librocm_smi64 has no %s", name);
  return found;
}

// The library as a program uses it that was linked with it, like rocblas-bench.
struct Smi {
  void* library;
#define SMI(name, ...)                                     \
  decltype(function<u32(__VA_ARGS__)>(nullptr, "")) name = \
      function<u32(__VA_ARGS__)>(library, "rsmi_" #name)
  SMI(init, u64);
  SMI(shut_down);
  SMI(num_monitor_devices, u32*);
  SMI(dev_id_get, u32, uint16_t*);
  SMI(dev_pci_id_get, u32, u64*);
  SMI(dev_memory_total_get, u32, u32, u64*);
  SMI(dev_memory_usage_get, u32, u32, u64*);
  SMI(dev_busy_percent_get, u32, u32*);
  SMI(dev_temp_metric_get, u32, u32, u32, int64_t*);
  SMI(compute_process_info_by_pid_get, u32, ProcessInfo*);
#undef SMI

  u64 used(u32 device) const {
    u64 bytes = 0;
    EXPECT(dev_memory_usage_get(device, kVram, &bytes) == 0, "memory usage of GPU %u", device);
    return bytes;
  }
  u32 busy(u32 device) const {
    u32 percent = 0;
    EXPECT(dev_busy_percent_get(device, &percent) == 0, "busy percent of GPU %u", device);
    EXPECT(percent <= 100, "GPU %u is %u %% busy", device, percent);
    return percent;
  }
};

static void check_identity(const Smi& smi, int device) {
  hipDeviceProp_t properties;
  HIP(hipGetDeviceProperties(&properties, device));
  uint16_t id = 0;
  u64 address = 0, total = 0;
  EXPECT(smi.dev_id_get(device, &id) == 0 && (id == 0x740f || id == 0x66a1), "id %#x", id);
  EXPECT(smi.dev_pci_id_get(device, &address) == 0, "PCI address");
  EXPECT(address == (u64(properties.pciBusID) << 8 | u64(properties.pciDeviceID) << 3),
         "GPU %d has the PCI address %#llx", device, static_cast<unsigned long long>(address));
  EXPECT(smi.dev_memory_total_get(device, kVram, &total) == 0 && total == size_t{4} << 30,
         "GPU %d has %llu bytes", device, static_cast<unsigned long long>(total));
  int64_t temperature;
  EXPECT(smi.dev_temp_metric_get(device, kEdge, kCurrent, &temperature) == kNotSupported,
         "a virtual GPU has a temperature");
}

static void check_memory(const Smi& smi, int device) {
  constexpr u64 kBytes = 256 << 20;
  HIP(hipSetDevice(device));
  HIP(hipDeviceSynchronize());
  const u64 before = smi.used(device);
  void* memory;
  HIP(hipMalloc(&memory, kBytes));
  EXPECT(smi.used(device) == before + kBytes, "hipMalloc changed it by %lld",
         static_cast<long long>(smi.used(device) - before));
  ProcessInfo info{};
  EXPECT(smi.compute_process_info_by_pid_get(getpid(), &info) == 0, "this process is not listed");
  EXPECT(info.process_id == u32(getpid()) && info.pasid != 0, "another process");
  HIP(hipFree(memory));
  EXPECT(smi.used(device) == before, "hipFree did not give it back");
}

// Neither has a time limit: what never happens is a test that times out.
static void check_busy(const Smi& smi, int device, int devices) {
  HIP(hipSetDevice(device));
  Counter counter;
  counter.launch();
  counter.wait_for_progress();
  while (smi.busy(device) < 50) usleep(1000);
  for (int other = 0; other < devices; ++other) {
    EXPECT(other == device || smi.busy(other) == 0, "GPU %d runs nothing", other);
  }
  ProcessInfo info{};
  EXPECT(smi.compute_process_info_by_pid_get(getpid(), &info) == 0 && info.cu_occupancy > 0,
         "waves are on %u %% of the CUs", info.cu_occupancy);
  counter.finish();
  while (smi.busy(device) > 0) usleep(1000);
}

static std::string output_of(const char* command) {
  FILE* pipe = popen(command, "r");
  EXPECT(pipe != nullptr, "%s", command);
  std::string text;
  for (char line[512]; fgets(line, sizeof line, pipe) != nullptr;) text += line;
  EXPECT(pclose(pipe) >= 0, "%s", command);  // status 2: some counters are not there
  return text;
}

static void check_command(int devices) {
  const std::string text =
      output_of("rocm-smi --showid --showuse --showmeminfo vram --showpids --showproductname 2>&1");
  const std::string last = "GPU[" + std::to_string(devices - 1) + "]";
  for (const std::string& wanted :
       {last + "\t\t: GPU ID: 0x", last + "\t\t: GPU use (%): ", std::to_string(getpid()),
        last + "\t\t: VRAM Total Memory (B): 4294967296", std::string("(virtual)")}) {
    EXPECT(text.find(wanted) != std::string::npos, "rocm-smi does not say \"%s\":\n%s",
           wanted.c_str(), text.c_str());
  }
}

int main() {
  void* library = dlopen("librocm_smi64.so.1", RTLD_NOW);
  if (library == nullptr || system("command -v rocm-smi > /dev/null") != 0) {
    std::printf("skipped: no rocm-smi here (scripts/install-deps --test installs it)\n");
    return 77;
  }
  int devices;
  HIP(hipGetDeviceCount(&devices));
  const Smi smi{library};
  EXPECT(smi.init(0) == 0, "rsmi_init");
  u32 found = 0;
  EXPECT(smi.num_monitor_devices(&found) == 0 && found == u32(devices), "%u GPUs", found);
  for (int device = 0; device < devices; ++device) {
    check_identity(smi, device);
    check_memory(smi, device);
    check_busy(smi, device, devices);
  }
  check_command(devices);
  EXPECT(smi.shut_down() == 0, "rsmi_shut_down");
  return pass("rocm-smi");
}
