#include "firmware.h"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "check.h"
#include "client.h"

namespace {

const std::string control = "/sys/kernel/debug/kfd_sim/";
const std::string parameters = "/sys/module/kfd_sim/parameters/";

int write_file(const std::string& path, const std::string& text) {
  int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return -errno;
  int r = write(fd, text.data(), text.size()) < 0 ? -errno : 0;
  close(fd);
  return r;
}

}  // namespace

FirmwareState firmware_state(unsigned gpu) {
  std::ifstream file(control + "state" + std::to_string(gpu));
  FirmwareState state;
  std::string line, kind, word;
  while (std::getline(file, line)) {
    std::istringstream in(line);
    uint32_t value = 0, doorbell = 0;
    in >> kind;
    if (kind == "gpu") {
      FirmwarePackets& p = state.packets;
      in >> state.gpu_id >> word >> value >> word >> p.run_list >> word >> p.unmap >> word >>
          p.query >> word >> p.write >> word >> p.unknown >> word >> p.reset >> word >> p.add >>
          word >> p.remove >> word >> state.processes >> word >> state.grace >> word >>
          state.grace_before >> word >> p.unmap_all >> word >> p.unmap_pasid;
    } else {
      in >> value >> word >> value >> word >> doorbell >> word >> value;
      MappedQueue& queue = state.mapped[doorbell];
      in >> word >> queue.xccs >> word >> queue.level;
    }
  }
  if (state.gpu_id == 0)
    throw Failed("no state in debugfs");
  return state;
}

FirmwareCount::FirmwareCount() {
  for (unsigned gpu = 0; gpu < gpus().size(); gpu++) before_.push_back(firmware_state(gpu));
}

FirmwarePackets FirmwareCount::since(unsigned gpu) const {
  FirmwarePackets was = before_.at(gpu).packets, is = firmware_state(gpu).packets;
  return {is.run_list - was.run_list,
          is.unmap - was.unmap,
          is.query - was.query,
          is.write - was.write,
          is.unknown - was.unknown,
          is.reset - was.reset,
          is.add - was.add,
          is.remove - was.remove,
          is.unmap_all - was.unmap_all,
          is.unmap_pasid - was.unmap_pasid};
}

int write_control(const std::string& name, const std::string& text) {
  return write_file(control + name, text);
}

int power(bool on) { return write_control("power", on ? "1" : "0"); }

int parameter(const std::string& name) {
  int value = -1;
  std::ifstream(parameters + name) >> value;
  return value;
}

void set_parameter(const std::string& name, int value) {
  if (int r = write_file(parameters + name, std::to_string(value)); r != 0)
    throw Failed("parameter " + name + ": " + std::to_string(r));
}
