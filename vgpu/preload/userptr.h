// Memory that the program registers with the GPU (hipHostRegister, pinned copies, ...).
//
// The GPU is another process, so the pages must be shared with it: they are moved into a memfd and
// mapped back at the same address, and moved out again when the last registration of them ends. The
// memfd is as large as the address space and a page lies at the offset that equals its address:
// registrations that overlap share their pages without any table.
//
// The driver is handed the memfd with ALLOC_MEMORY_OF_GPU and maps the range from it. GPU and CPU
// then work on the same memory, atomics included.
//
// While pages move, other threads may write to them. They are write-protected by userfaultfd
// meanwhile: a writer waits and finds the new mapping. Where userfaultfd is not to be had, a write
// at just that moment is lost.
#pragma once

#include "libc/types.h"

namespace vgpu::preload {

// Whether [address, address + size) can be registered: 0, or -errno as the kernel's:
//   -EINVAL  not page aligned
//   -EFAULT  not mapped, not readable, or GPU memory itself
//   -EPERM   read-only (hmm_range_fault wants to write)
// Mappings of files that are shared with others cannot be moved; the kernel could register them.
// They are refused with -EFAULT, and standard error says why.
int check_user_memory(gp::u64 address, gp::u64 size);

// The memfd to pass to the server, or -errno. Stays ours.
int user_memory_file();

// Moves the pages into the memfd. 0 or -errno; a failure leaves every page usable.
int register_user_memory(gp::u64 handle, gp::u64 address, gp::u64 size);

// Moves back what no other registration holds. Unknown handles (other kinds of memory) are fine.
void unregister_user_memory(gp::u64 handle);

}  // namespace vgpu::preload
