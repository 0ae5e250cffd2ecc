// The gfx9 compute instruction set as data: one row per opcode of each encoding, in
// isa/tables/*.def.
#pragma once

#include "isa/inst.h"

namespace vgpu::isa {

// One enumerator per mnemonic. The VOP3 form of a VOP1, VOP2 or VOPC instruction has the same Op.
enum class Op : u16 {
#define OP(opcode, name, ...) name,
#define OP_AGAIN(...)
#include "isa/tables/sop1.def"
#include "isa/tables/sop2.def"
#include "isa/tables/sopc.def"
#include "isa/tables/sopk.def"
#include "isa/tables/sopp.def"
#include "isa/tables/smem.def"
#include "isa/tables/vop1.def"
#include "isa/tables/vop2.def"
#include "isa/tables/vopc.def"
#include "isa/tables/vop3.def"
#include "isa/tables/vop3p.def"
#include "isa/tables/mai.def"
#include "isa/tables/ds.def"
#include "isa/tables/flat.def"
#include "isa/tables/global.def"
#include "isa/tables/scratch.def"
#include "isa/tables/mubuf.def"
#include "isa/tables/mtbuf.def"
#undef OP
#undef OP_AGAIN
  count
};

struct OpInfo {
  Op op;
  Format format;
  u16 opcode;        // the number in the encoding's op field
  const char* name;  // LLVM's mnemonic without _e32, _e64, _sdwa, _dpp
  u8 archs;          // bit 1 << Arch
};

}  // namespace vgpu::isa
