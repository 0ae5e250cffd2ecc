// Replaces pages under a running program: copies them to another kind of memory and maps that at
// the same address, so that no write is lost.
//
// The copy runs on a helper thread, while the calling thread waits in the kernel with all signals
// blocked: the pages may hold the caller's own stack or thread-local data, to which it must not
// write between copy and replacement. Everything here is plain system calls: nothing touches errno,
// which may lie in the pages as well.
#pragma once

#include "libc/types.h"

namespace vgpu::preload {

struct PageRange {
  gp::u64 start = 0, end = 0;
  int protection = 0;
};

// Private memory -> the file, at the offset that equals its address. 0 or -errno.
int move_into_file(int file, const PageRange& range);
// The file -> private anonymous memory; the file's pages are given back.
int move_out_of_file(int file, const PageRange& range);

// The same as move_out_of_file for a forked child, which has no other threads and must leave the
// file's pages to its parent.
int copy_out_of_file(int file, const PageRange& range);

}  // namespace vgpu::preload
