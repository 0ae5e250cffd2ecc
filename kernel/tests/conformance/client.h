// A process that uses KFD: opens the device, makes queues, sends ioctls. Results are those of the
// kernel: 0 or more, or a negative errno.
#pragma once

#include <linux/kfd_ioctl.h>

#include <cstdint>
#include <map>
#include <vector>

struct Gpu {
  uint32_t id = 0;
  uint32_t xccs = 1;  // parts that work on one queue together, each with a save area
  uint32_t save_area_bytes = 0;
  uint32_t control_stack_bytes = 0;
  uint32_t debug_bytes = 0;
};

// GPUs in the order of the topology; the same for every process.
const std::vector<Gpu>& gpus();

class Client {
 public:
  Client();
  ~Client();
  Client(const Client&) = delete;

  int fd() const { return fd_; }
  int ioctl(unsigned long request, void* args) const;

  // Returns the queue id or a negative errno. type: KFD_IOC_QUEUE_TYPE_*
  int create_queue(unsigned gpu, uint32_t priority, uint32_t type = KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
  int destroy_queue(uint32_t id);
  int update_queue(uint32_t id, uint32_t percentage, uint32_t priority);

  // What program and GPU share of a queue.
  struct Shared {
    uint64_t* read_index;
    uint64_t* write_index;
    uint8_t* ring;
  };
  Shared shared(uint32_t id) const;

  // The debugger, on this process itself.
  int enable_debugging();
  int suspend(uint32_t id);  // number of queues suspended
  int resume(uint32_t id);

 private:
  struct Buffers {  // what a queue needs, each a mapping of its own
    uint64_t ring, read_index, write_index, end_of_pipe, save_area;
  };
  uint64_t allocate(unsigned gpu, uint64_t bytes);
  Buffers buffers(unsigned gpu);

  struct Queue {
    unsigned gpu;
    Buffers buffers;
  };
  int fd_ = -1;
  std::vector<int> render_fds_;
  std::map<uint32_t, Queue> queues_;
  std::map<unsigned, std::vector<Buffers>> spare_;
};
