// The mappings of this process, read from /proc/self/maps without allocating.
#pragma once

#include "libc/types.h"

namespace vgpu::preload {

struct Mapping {
  gp::u64 start = 0, end = 0;
  gp::u64 offset = 0;             // in the file
  gp::u64 device = 0, inode = 0;  // 0: anonymous
  int protection = 0;             // PROT_*
  bool shared = false;
};

class MapsReader {
 public:
  MapsReader();
  ~MapsReader();
  MapsReader(const MapsReader&) = delete;
  MapsReader& operator=(const MapsReader&) = delete;

  bool opened() const { return fd_ >= 0; }
  // The next mapping in order of address; false at the end.
  bool next(Mapping& mapping);

 private:
  bool read_line(char* line, int capacity);

  int fd_;
  int used_ = 0, filled_ = 0;
  char buffer_[4096];
};

}  // namespace vgpu::preload
