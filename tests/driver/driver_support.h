// Plays client processes against a Driver, without sockets: each is a pid with its own kfd file,
// and all of them live in the test's own address space.
#pragma once

#include <gtest/gtest.h>
#include <sys/ioctl.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/abi.h"
#include "driver/driver.h"
#include "support/eventually.h"
#include "support/temporary_directory.h"

namespace vgpu::driver {

// Memory of this very process; addresses below the first page are a fault.
class OwnMemory : public UserMemory {
 public:
  bool read(u64 address, void* out, u64 size) override;
  bool write(u64 address, const void* in, u64 size) override;
};

// The files of this very process.
class OwnFiles : public UserFiles {
 public:
  std::optional<FileId> find(u32 fd) override;
};

template <class Args>
constexpr u32 command(u32 nr) {
  return static_cast<u32>(_IOC(_IOC_READ | _IOC_WRITE, abi::kKfdIoctlBase, nr, sizeof(Args)));
}

// A buffer of a client, mapped by it (at the address the GPU sees it) like libhsakmt does.
struct TestBuffer {
  u64 va = 0, size = 0, handle = 0, offset = 0;
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(va);
  }
};

struct TestQueue {
  u32 id = 0;
  u64 doorbell_offset = 0;
  TestBuffer ring, pointers, eop, save_area;
  abi::CreateQueueArgs args = {};
  std::atomic<u64>* doorbell = nullptr;
};

class Client {
 public:
  // A pid that cannot exist, unless one is given.
  explicit Client(Driver& driver, pid_t pid = 0);
  ~Client();  // exits
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  pid_t pid() const { return pid_; }
  FileId file() const { return file_; }
  int kfd_fd() const { return kfd_.get(); }
  void exit();

  // One ioctl; returns what the kernel would.
  template <class Args>
  int call(u32 nr, Args& args) {
    return call_on(file_, nr, args);
  }
  // On another process's file, or as another thread.
  template <class Args>
  int call_on(FileId file, u32 nr, Args& args, pid_t tid = 0) {
    Caller caller = make_caller(tid);
    return call_as(caller, file, nr, args);
  }
  template <class Args>
  int call_as(Caller& caller, FileId file, u32 nr, Args& args) {
    std::vector<u8> bytes(4096);
    std::memcpy(bytes.data(), &args, sizeof(args));
    const int result = driver_.ioctl(caller, file, command<Args>(nr), bytes);
    std::memcpy(&args, bytes.data(), sizeof(args));
    return result;
  }
  Caller make_caller(pid_t tid = 0);

  u32 gpu_id(u32 index = 0);
  void acquire_vm(u32 index = 0);
  // Allocates, maps into the test and on the GPU.
  TestBuffer allocate(u64 size, u32 flags = abi::alloc_gtt, u32 index = 0);
  void free(const TestBuffer& buffer, u32 index = 0);
  // A queue with all it needs; acquires the VM if needed.
  abi::CreateQueueArgs queue_args(TestQueue& queue, u32 type, u32 index = 0);
  TestQueue create_queue(u32 type = abi::queue_type_compute_aql, u32 priority = 7, u32 index = 0);
  int destroy_queue(u32 id);
  int update_queue(const TestQueue& queue, u32 percentage, u32 priority = 7);
  u32 create_event(u32 type = abi::event_signal, bool auto_reset = true);

 private:
  Driver& driver_;
  pid_t pid_;
  OwnMemory memory_;
  OwnFiles files_;
  UniqueFd kfd_, render_;
  FileId file_;
  std::vector<std::pair<void*, u64>> mappings_;
  std::vector<bool> acquired_;
};

class DriverTest : public ::testing::Test {
 protected:
  void SetUp() override { start(small()); }
  void TearDown() override;
  // Starts (again) with another configuration.
  void start(DriverConfig config);
  // A small machine.
  static DriverConfig small();

  std::string state_of(pid_t pid, u32 queue_id);
  std::string read(const std::string& path);
  u64 runlists(u32 gpu = 0) { return driver->stats().gpus.at(gpu).stats.runlists; }
  u64 unmaps(u32 gpu = 0) { return driver->stats().gpus.at(gpu).stats.unmaps; }

  const gp::TemporaryDirectory temporary;
  const std::string tree = temporary.path();
  std::unique_ptr<Driver> driver;
};

using gp::eventually;

}  // namespace vgpu::driver
