// What clients (libvgpu.so, vgpu) and vgpud say to each other: one SEQPACKET message each way per
// call, on a connection of the calling thread's own, so that a call may block in the server.
// The identity of the caller is SO_PEERCRED. Included by the preload: plain C types, no libstdc++.
#pragma once

#include "libc/types.h"

namespace vgpu::wire {

constexpr gp::u32 kMagic = 0x55504756;  // "VGPU"
constexpr gp::u32 kVersion = 1;
constexpr gp::u32 kMaxData = 4096;

// Environment of a client: the runtime directory of its device.
constexpr char kEnvironment[] = "GPREEMPT_VGPU_DIR";
// Below the runtime directory.
constexpr char kSocketName[] = "socket";
constexpr char kTreeName[] = "tree";  // tree/sys/class/kfd/..., tree/dev/kfd

// Written by the server into the runtime directory when it is ready.
constexpr char kMarketingName[] = "marketing_name";  // what libdrm calls the card

enum Kind : gp::u32 {
  kind_open_kfd = 1,     // reply: the process's kfd memfd
  kind_open_render = 2,  // argument: minor. Reply: the memory memfd
  kind_open_file = 3,    // data: path. Reply: a memfd with the file's text
  kind_open_writer = 4,  // data: path. Reply: a socket; each message on it is one write(2)
  kind_ioctl = 5,        // argument: command; data: the argument struct. May carry a fd each way
  kind_doorbell = 6,     // argument: client VA; file_inode: offset in the kfd file. Carries a uffd
  kind_stats = 7,        // reply: JSON, in a memfd
  kind_inject = 8,       // data: text
  kind_stop = 9,         // end the server
  kind_ping = 10,        // reply: JSON {pid, options, ...}, in a memfd
  // The connection stands for the address space of the process: it is closed by exec and exit and
  // by nothing else, and the driver then tears the process down. Nothing else is sent on it.
  kind_attach = 11,
};

struct RequestHeader {
  gp::u32 magic = kMagic;
  gp::u32 version = kVersion;
  gp::u32 kind = 0;
  gp::u32 size = 0;  // bytes of data that follow
  gp::i32 tid = 0;   // gettid() of the caller, in its own pid namespace
  gp::u32 pad = 0;
  gp::u64 argument = 0;
  gp::u64 file_device = 0;  // fstat of the fd the ioctl was made on
  gp::u64 file_inode = 0;
};
struct Request : RequestHeader {
  gp::u8 data[kMaxData];
};
constexpr gp::u32 kRequestHeader = sizeof(RequestHeader);
static_assert(kRequestHeader == 48 && sizeof(Request) == kRequestHeader + kMaxData);

struct ReplyHeader {
  gp::u32 magic = kMagic;
  gp::i32 result = 0;  // >= 0, or -errno
  gp::u32 size = 0;
  gp::u32 pad = 0;
};
// A failed call of the command line (stats, inject, ...) carries the error's text in data.
struct Reply : ReplyHeader {
  gp::u8 data[kMaxData];
};
constexpr gp::u32 kReplyHeader = sizeof(ReplyHeader);
static_assert(kReplyHeader == 16 && sizeof(Reply) == kReplyHeader + kMaxData);

}  // namespace vgpu::wire
