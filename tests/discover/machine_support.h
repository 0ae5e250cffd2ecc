// A machine made up for a test: its sysfs, debugfs and /proc in a Recording, in the driver's
// formats.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "discover/discover.h"
#include "support/recorded_os.h"

namespace gp::discover {

struct MadeQueue {
  u32 queue_id = 0;
  u32 gpu = 0;  // index of the GPU
  QueueType type = QueueType::compute;
  u32 priority = 7;
  u64 ring_base = 0x7f0000100000;
  u64 ring_bytes = 0x100000;
  bool active = true;
  bool mapped = true;
  u32 read_index = 0;   // in the slot
  u32 write_index = 0;  // in the slot
  u32 saved_bytes = 0;  // of each XCC
  u64 created = 0;      // inode of its directory; 0: not on a real sysfs
};

struct MadeProcess {
  pid_t pid = 0;
  u64 start_time = 1000;
  uid_t uid = 1000;
  std::string command = "python train.py";
  std::string environ{};            // with zero bytes
  std::vector<MadeQueue> queues{};  // oldest first
};

struct MadeMachine {
  u32 gpus = 1;
  u32 xccs = 1;
  u32 sdma_engines = 2;
  u32 sdma_queues_per_engine = 2;
  u32 gfx_target_version = 90402;
  bool dkms_pasid = false;  // the form of 7.x and AMD's DKMS driver
  bool repeat_sdma = true;  // dump SDMA once per XCC, as the driver does
  std::vector<MadeProcess> processes;

  u32 gpu_id(u32 gpu) const { return 0xf000 + gpu; }
  u64 mqd_address(const MadeProcess& process, const MadeQueue& queue) const;
  u32 doorbell(const MadeProcess& process, const MadeQueue& queue) const;

  std::string mqds() const;
  std::string hqds() const;
  std::string rls() const;
  Recording recording() const;
};

// Where recording() puts everything, seen as the running system.
Paths made_paths();

Snapshot snapshot_of(const Recording& recording, const ClassConfig& classes = {},
                     const Sources& sources = {});

}  // namespace gp::discover
