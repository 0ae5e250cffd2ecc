// What the emulated firmware was told, and what it can be told (kernel/sim/control.c).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

struct FirmwarePackets {
  uint64_t run_list = 0, unmap = 0, query = 0, write = 0, unknown = 0, reset = 0;
  uint64_t add = 0, remove = 0;  // MES
  uint64_t unmap_all = 0;        // of the unmaps: of static queues, too
  uint64_t unmap_pasid = 0;      // of the unmaps: of one process alone
};

struct MappedQueue {
  uint32_t xccs = 0;   // how many run it
  uint32_t level = 0;  // of MES: 0 the lowest, 1 normal
};

struct FirmwareState {
  uint32_t gpu_id = 0;
  FirmwarePackets packets;
  uint32_t processes = 0;     // in the last run list
  uint32_t grace = 0;         // what was last written to the register of the grace period
  uint32_t grace_before = 0;  // and what before
  std::map<uint32_t, MappedQueue> mapped;  // by doorbell
};

// Waits while somebody changes queues of this GPU.
FirmwareState firmware_state(unsigned gpu);

// Packets of every kind sent to each GPU between construction and call.
class FirmwareCount {
 public:
  FirmwareCount();
  FirmwarePackets since(unsigned gpu = 0) const;

 private:
  std::vector<FirmwareState> before_;
};

int power(bool on);  // off: as on suspend-to-RAM
void set_parameter(const std::string& name, int value);
int parameter(const std::string& name);
int write_control(const std::string& name, const std::string& text);
