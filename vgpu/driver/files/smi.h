// System management events of one GPU (kfd_smi_events.c). A client writes a 64-bit mask of event
// numbers into its file and reads lines of text; the file is one end of a socket pair.
#pragma once

#include <sys/types.h>

#include <list>
#include <mutex>
#include <string>

#include "base/unique_fd.h"
#include "memory/page_table.h"

namespace vgpu::driver {

class SmiClients {
 public:
  // The client's end, or an invalid fd with errno. `privileged`: may ask for events of others.
  UniqueFd open(pid_t pid, bool privileged);

  // pid 0: of interest to everybody.
  void queue_eviction(pid_t pid, u32 gpu_id, u32 trigger);
  void queue_restore(pid_t pid, u32 gpu_id);
  void vm_fault(pid_t pid, const std::string& task_name);
  void gpu_reset(bool done, u32 sequence, const std::string& cause);

 private:
  struct Client {
    UniqueFd socket;
    pid_t pid;
    bool privileged;
    u64 mask = 0;
  };
  void send(pid_t pid, u32 event, const std::string& text);
  static bool read_mask(Client& client);

  std::mutex mutex_;
  std::list<Client> clients_;
};

}  // namespace vgpu::driver
