#include "firmware.h"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "check.h"

namespace {

const std::string control = "/sys/kernel/debug/kfd_sim/";

int write_file(const std::string& path, const std::string& text) {
  int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return -errno;
  int r = write(fd, text.data(), text.size()) < 0 ? -errno : 0;
  close(fd);
  return r;
}

}  // namespace

std::vector<FirmwareState> firmware_state() {
  std::ifstream file(control + "state");
  std::vector<FirmwareState> gpus;
  std::string line, kind, word;
  while (std::getline(file, line)) {
    std::istringstream in(line);
    uint32_t id = 0, value = 0, doorbell = 0;
    in >> kind >> id;
    if (kind == "gpu") {
      FirmwareState gpu;
      gpu.gpu_id = id;
      FirmwarePackets& p = gpu.packets;
      in >> word >> value >> word >> p.run_list >> word >> p.unmap >> word >> p.query >> word >>
          p.write >> word >> p.unknown >> word >> p.reset >> word >> p.add >> word >> p.remove;
      gpus.push_back(gpu);
    } else {
      in >> word >> value >> word >> doorbell >> word >> value;
      MappedQueue& queue = gpus.back().mapped[doorbell];
      in >> word >> queue.xccs >> word >> queue.level;
    }
  }
  if (gpus.empty())
    throw Failed("no state in debugfs");
  return gpus;
}

FirmwarePackets FirmwareCount::since(unsigned gpu) const {
  FirmwarePackets was = before_.at(gpu).packets, is = firmware_state().at(gpu).packets;
  return {is.run_list - was.run_list, is.unmap - was.unmap,     is.query - was.query,
          is.write - was.write,       is.unknown - was.unknown, is.reset - was.reset,
          is.add - was.add,           is.remove - was.remove};
}

int write_control(const std::string& name, const std::string& text) {
  return write_file(control + name, text);
}

int power(bool on) { return write_control("power", on ? "1" : "0"); }

void set_parameter(const std::string& name, unsigned value) {
  if (int r = write_file("/sys/module/kfd_sim/parameters/" + name, std::to_string(value)); r != 0)
    throw Failed("parameter " + name + ": " + std::to_string(r));
}
