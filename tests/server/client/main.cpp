// A program on the virtual device for the server's tests: does one thing until it is killed or the
// device goes. Prints "ready" when it is at it. Exit code 0: the device went and every call said
// ENODEV; 1: anything else.
//
//   version     prints the interface version and ends
//   hold        opens the device and waits
//   loop        allocates and frees memory all the time
//   wait        blocks in WAIT_EVENTS
//   threads     eight threads, half of them blocked, half of them busy
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "abi/kfd.h"

namespace {

using namespace gp;

template <class Args>
int call(int fd, u32 number, Args& args) {
  return ::ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, abi::kKfdIoctlBase, number, sizeof args), &args);
}

struct Device {
  int kfd = ::open("/dev/kfd", O_RDWR | O_CLOEXEC);
  int render = kfd < 0 ? -1 : ::open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
  u32 gpu_id = 0;
  bool acquire() {
    if (kfd < 0 || render < 0) {
      return false;
    }
    std::ifstream("/sys/class/kfd/kfd/topology/nodes/1/gpu_id") >> gpu_id;
    abi::AcquireVmArgs args{};
    args.drm_fd = static_cast<u32>(render);
    args.gpu_id = gpu_id;
    return call(kfd, abi::kfd_acquire_vm, args) == 0;
  }
};

void ready() {
  std::puts("ready");
  std::fflush(stdout);
}

int version() {
  abi::GetVersionArgs args{};
  Device device;
  if (call(device.kfd, abi::kfd_get_version, args) != 0) {
    std::perror("GET_VERSION");
    return 1;
  }
  std::printf("%u.%u\n", args.major_version, args.minor_version);
  return 0;
}

// True if the call failed because the device has gone.
bool gone(int result) { return result != 0 && errno == ENODEV; }

int allocate_until_gone(Device& device) {
  for (u64 i = 0;; ++i) {
    abi::AllocMemoryArgs alloc{};
    alloc.va_addr = (u64{1} << 40) + (i % 1024) * (u64{1} << 20);
    alloc.size = u64{1} << 16;
    alloc.gpu_id = device.gpu_id;
    alloc.flags = (i % 2 ? abi::alloc_vram : abi::alloc_gtt) | abi::alloc_writable;
    int result = call(device.kfd, abi::kfd_alloc_memory_of_gpu, alloc);
    if (result == 0) {
      abi::FreeMemoryArgs free{};
      free.handle = alloc.handle;
      result = call(device.kfd, abi::kfd_free_memory_of_gpu, free);
    }
    if (result != 0) {
      return gone(result) ? 0 : (std::perror("loop"), 1);
    }
  }
}

int wait_until_gone(Device& device) {
  abi::CreateEventArgs event{};
  event.event_type = abi::event_memory;
  if (call(device.kfd, abi::kfd_create_event, event) != 0) {
    return gone(-1) ? 0 : (std::perror("CREATE_EVENT"), 1);
  }
  abi::EventData data{};
  data.event_id = event.event_id;
  abi::WaitEventsArgs wait{};
  wait.events_ptr = reinterpret_cast<u64>(&data);
  wait.num_events = 1;
  wait.timeout = 0xffffffff;
  return gone(call(device.kfd, abi::kfd_wait_events, wait)) ? 0 : (std::perror("WAIT_EVENTS"), 1);
}

int hold_until_killed() {
  ready();
  ::pause();
  return 1;
}

int run_threads(Device& device) {
  std::vector<std::thread> threads;
  int results[8] = {};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back(
        [&, i] { results[i] = i % 2 ? wait_until_gone(device) : allocate_until_gone(device); });
  }
  int worst = 0;
  for (int i = 0; i < 8; ++i) {
    threads[static_cast<std::size_t>(i)].join();
    worst |= results[i];
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "version") {
    return version();
  }
  Device device;
  if (!device.acquire()) {
    // A device that goes while a program starts is gone, too.
    return gone(-1) ? 0 : (std::perror("open"), 1);
  }
  if (what == "hold") {
    return hold_until_killed();
  }
  ready();
  if (what == "loop") {
    return allocate_until_gone(device);
  }
  return what == "wait" ? wait_until_gone(device) : run_threads(device);
}
