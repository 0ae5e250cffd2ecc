// What the emulated firmware was told, and what it can be told (kernel/sim/control.c).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

struct Packets {
  uint64_t run_list = 0, unmap = 0, query = 0, write = 0, unknown = 0, reset = 0;
};

struct GpuState {
  uint32_t id = 0;
  Packets packets;
  std::set<uint32_t> mapped;  // doorbells
};

std::vector<GpuState> firmware_state();

// Packets sent to each GPU between construction and call.
class PacketCount {
 public:
  PacketCount() : before_(firmware_state()) {}
  Packets since(unsigned gpu = 0) const;

 private:
  std::vector<GpuState> before_;
};

int evict(int pid);
int restore(int pid);
int power(bool on);  // off: as on suspend-to-RAM
void set_parameter(const std::string& name, unsigned value);
