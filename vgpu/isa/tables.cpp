#include "isa/tables.h"

#include <array>
#include <vector>

namespace vgpu::isa {
namespace {

namespace rows {  // the names that stand in the columns

constexpr u8 gfx906 = 1 << static_cast<int>(Arch::gfx906);
constexpr u8 gfx90a = 1 << static_cast<int>(Arch::gfx90a);
constexpr u8 both = gfx906 | gfx90a;
using enum Type;
using namespace trait;  // NOLINT(google-build-using-namespace)

constexpr OpInfo kRows[] = {
#define OP_AGAIN OP
// clang-format off
#define OP(code, name, archs, dst, src0, traits) \
  {Op::name, Format::sop1, code, #name, archs, dst, {src0, none, none}, traits},
#include "isa/tables/sop1.def"
#undef OP
#define OP(code, name, archs, dst, src0, src1, traits) \
  {Op::name, Format::sop2, code, #name, archs, dst, {src0, src1, none}, traits},
#include "isa/tables/sop2.def"
#undef OP
#define OP(code, name, archs, src0, src1, traits) \
  {Op::name, Format::sopc, code, #name, archs, none, {src0, src1, none}, traits},
#include "isa/tables/sopc.def"
#undef OP
#define OP(code, name, archs, dst, simm16, traits) \
  {Op::name, Format::sopk, code, #name, archs, dst, {simm16, none, none}, traits},
#include "isa/tables/sopk.def"
#undef OP
#define OP(code, name, archs, simm16, traits) \
  {Op::name, Format::sopp, code, #name, archs, none, {simm16, none, none}, traits},
#include "isa/tables/sopp.def"
#undef OP
#define OP(code, name, archs, sdata, sbase, traits) \
  {Op::name, Format::smem, code, #name, archs, sdata, {sbase, none, none}, traits},
#include "isa/tables/smem.def"
#undef OP
#define OP(code, name, archs, dst, src0, traits) \
  {Op::name, Format::vop1, code, #name, archs, dst, {src0, none, none}, traits},
#include "isa/tables/vop1.def"
#undef OP
#define OP(code, name, archs, dst, src0, src1, src2, traits) \
  {Op::name, Format::vop2, code, #name, archs, dst, {src0, src1, src2}, traits},
#include "isa/tables/vop2.def"
#undef OP
#define OP(code, name, archs, src0, src1, traits) \
  {Op::name, Format::vopc, code, #name, archs, b64, {src0, src1, none}, traits},
#include "isa/tables/vopc.def"
#undef OP
#define OP(code, name, archs, dst, src0, src1, src2, traits) \
  {Op::name, Format::vop3, code, #name, archs, dst, {src0, src1, src2}, traits},
#include "isa/tables/vop3.def"
#undef OP
#define OP(code, name, archs, dst, src0, src1, src2, traits) \
  {Op::name, Format::vop3p, code, #name, archs, dst, {src0, src1, src2}, traits},
#include "isa/tables/mai.def"
#include "isa/tables/vop3p.def"
#undef OP
#define OP(code, name, archs, dst, addr, data0, data1, traits) \
  {Op::name, Format::ds, code, #name, archs, dst, {addr, data0, data1}, traits},
#include "isa/tables/ds.def"
#undef OP
#define OP(code, name, archs, dst, data, traits) \
  {Op::name, Format::flat, code, #name, archs, dst, {b64, data, none}, traits},
#include "isa/tables/flat.def"
#undef OP
#define OP(code, name, archs, dst, data, traits) \
  {Op::name, Format::global, code, #name, archs, dst, {b64, data, none}, traits},
#include "isa/tables/global.def"
#undef OP
#define OP(code, name, archs, dst, data, traits) \
  {Op::name, Format::scratch, code, #name, archs, dst, {b32, data, none}, traits},
#include "isa/tables/scratch.def"
#undef OP
#define OP(code, name, archs, dst, data, traits) \
  {Op::name, Format::mubuf, code, #name, archs, dst, {b32, data, none}, traits},
#include "isa/tables/mubuf.def"
#undef OP
#define OP(code, name, archs, dst, data, traits) \
  {Op::name, Format::mtbuf, code, #name, archs, dst, {b32, data, none}, traits},
#include "isa/tables/mtbuf.def"
#undef OP
#undef OP_AGAIN
    // clang-format on
};

}  // namespace rows

// Opcodes of VOP1, VOP2 and VOPC instructions in the VOP3 encoding ("CDNA2 ISA", 13.3.4).
constexpr u16 kVop3FromVopc = 0;
constexpr u16 kVop3FromVop2 = 0x100;
constexpr u16 kVop3FromVop1 = 0x140;

class Tables {
 public:
  Tables() {
    for (const OpInfo& row : rows::kRows) {
      rows_.push_back(row);
      if (row.has(trait::no_vop3)) {
        continue;
      }
      switch (row.format) {
        case Format::vopc: add_vop3(row, kVop3FromVopc); break;
        case Format::vop2: add_vop3(row, kVop3FromVop2); break;
        case Format::vop1: add_vop3(row, kVop3FromVop1); break;
        default: break;
      }
    }
    for (const OpInfo& row : rows_) {
      for (Arch arch : {Arch::gfx906, Arch::gfx90a}) {
        if (row.on(arch)) {
          slot(arch, row.format, row.opcode) = &row;
        }
      }
    }
  }

  std::span<const OpInfo> rows() const { return rows_; }

  const OpInfo* find(Arch arch, Format format, u32 opcode) const {
    return opcode < kOpcodes ? by_opcode_[index(arch, format)][opcode] : nullptr;
  }

 private:
  static constexpr u32 kOpcodes = 1024;  // the op field of VOP3 is the widest: 10 bits
  static constexpr size_t kFormats = static_cast<size_t>(Format::mtbuf) + 1;

  static size_t index(Arch arch, Format format) {
    return static_cast<size_t>(arch) * kFormats + static_cast<size_t>(format);
  }

  void add_vop3(const OpInfo& row, u16 offset) {
    OpInfo vop3 = row;
    vop3.format = Format::vop3;
    vop3.opcode += offset;
    rows_.push_back(vop3);
  }

  const OpInfo*& slot(Arch arch, Format format, u32 opcode) {
    return by_opcode_[index(arch, format)][opcode];
  }

  std::vector<OpInfo> rows_;
  std::array<const OpInfo*, kOpcodes> by_opcode_[2 * kFormats] = {};
};

const Tables& tables() {
  static const Tables instance;
  return instance;
}

}  // namespace

int dwords(Type type) {
  using enum Type;
  switch (type) {
    case b64:
    case i64:
    case u64:
    case f64:
    case b32x2:
    case f32x2: return 2;
    case b96: return 3;
    case b128: return 4;
    case f64x4:
    case b256: return 8;
    case b512: return 16;
    case b1024: return 32;
    default: return 1;
  }
}

bool is_float(Type type) {
  using enum Type;
  return type == f16 || type == f32 || type == f64 || type == f16x2 || type == f32x2;
}

int source_count(const OpInfo& op) {
  int count = 0;
  while (count < 3 && op.src[count] != Type::none) {
    ++count;
  }
  return count;
}

std::span<const OpInfo> all_ops() { return tables().rows(); }

const OpInfo* find_op(Arch arch, Format format, u32 opcode) {
  return tables().find(arch, format, opcode);
}

}  // namespace vgpu::isa
