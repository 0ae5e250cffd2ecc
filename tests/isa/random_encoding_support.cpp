#include "isa/random_encoding_support.h"

#include <iterator>

namespace vgpu::isa::test {

u32 RandomEncoding::scalar_register() {
  static constexpr u32 kEdges[] = {0,   1,   2,   3,   96,  97,  98,  99,  100, 101, 102, 103, 104,
                                   105, 106, 107, 108, 109, 112, 120, 123, 124, 125, 126, 127};
  return chance(30) && !no_operands_ ? kEdges[random_() % std::size(kEdges)] : bits(7);
}

u32 RandomEncoding::scalar_source() {
  if (no_operands_) {
    return 0;
  }
  if (chance(40)) {
    return scalar_register();
  }
  return chance(70) ? 128 + bits(7) : bits(8);
}

u32 RandomEncoding::vector_source() {
  if (no_operands_) {
    return 0;
  }
  return chance(50) ? 256 + vgpr() : scalar_source();
}

// Not one of the values that have an inline constant: llvm-mc assembles those to the constant.
u32 RandomEncoding::literal() { return chance(50) ? bits(32) | 0x10004100 : bits(16) | 0x4100; }

// Select values 7 and dst_unused 3 are reserved; llvm-mc aborts on them.
u32 RandomEncoding::sdwa(bool compare) {
  const auto select = [this] { return static_cast<u32>(random_() % 7); };
  u32 word =
      bits(8) | select() << 16 | maybe(30, 1) << 19 | maybe(30, 2) << 20 | maybe(20, 1) << 23;
  if (compare) {
    word |= bits(8) << 8;
  } else {
    word |= select() << 8 | static_cast<u32>(random_() % 3) << 11 | maybe(30, 1) << 13 |
            maybe(20, 2) << 14;
  }
  if (chance(60)) {
    word |= select() << 24 | maybe(30, 1) << 27 | maybe(30, 2) << 28 | maybe(20, 1) << 31;
  }
  return word;
}

u32 RandomEncoding::dpp() {
  static constexpr u32 kControls[] = {0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143};
  const u32 control = chance(30)   ? bits(8)
                      : chance(30) ? kControls[bits(3)]
                      : chance(40) ? 0x150 | bits(4)
                      : chance(80) ? 0x100 | bits(6)
                                   : bits(9);
  return bits(8) | control << 8 | maybe(30, 1) << 19 | maybe(30, 4) << 20 | bits(8) << 24;
}

u32 RandomEncoding::first_source(Encoding& encoding, bool compare) {
  if (chance(20)) {
    encoding[1] = sdwa(compare);
    return op_sdwa;
  }
  if (chance(20)) {
    encoding[1] = dpp();
    return op_dpp;
  }
  const u32 source = vector_source();
  return source == op_sdwa || source == op_dpp ? u32{op_vgpr0} : source;
}

Encoding RandomEncoding::make_vop3(u32 opcode) {
  const u32 low = 0xd0000000 | opcode << 16 | maybe(20, 1) << 15 | maybe(20, 4) << 11 |
                  maybe(30, 3) << 8 | (chance(90) ? vgpr() : 0);
  const u32 src1 = chance(65) ? vector_source() : 0, src2 = chance(50) ? vector_source() : 0;
  const u32 src0 = chance(95) ? vector_source() : 0;
  return {low, src0 | src1 << 9 | src2 << 18 | maybe(20, 2) << 27 | maybe(30, 3) << 29};
}

Encoding RandomEncoding::make_vop3p(u32 opcode) {
  const u32 low = 0xd3800000 | opcode << 16 | maybe(20, 1) << 15 | bits(1) << 14 |
                  maybe(30, 3) << 11 | maybe(20, 3) << 8 | bits(8);
  const u32 src2 = chance(60) ? vector_source() : 0;
  const u32 opsel_hi = chance(50) ? 3 : bits(2);
  return {low, vector_source() | vector_source() << 9 | src2 << 18 | opsel_hi << 27 |
                   maybe(20, 3) << 29};
}

// llvm-mc aborts if A or B is not a vector register.
Encoding RandomEncoding::make_mfma(u32 opcode) {
  constexpr u32 kAccRead = 0x58, kAccWrite = 0x59;
  const u32 a = 256 + vgpr();
  if (opcode == kAccRead || opcode == kAccWrite) {
    return {0xd3800000 | opcode << 16 | 0x4000 | bits(8), a | 3u << 27};
  }
  const u32 c = chance(70) ? 256 + vgpr() : 128 + static_cast<u32>(random_() % 81);
  const u32 low =
      0xd3800000 | opcode << 16 | bits(1) << 15 | maybe(30, 4) << 11 | maybe(30, 3) << 8 | bits(8);
  return {low, a | (256 + vgpr()) << 9 | c << 18 | bits(2) << 27 | maybe(30, 3) << 29};
}

Encoding RandomEncoding::make_ds(u32 opcode) {
  const u32 low =
      0xd8000000 | opcode << 17 | maybe(30, 1) << 25 | maybe(30, 1) << 16 | maybe(70, 16);
  return {low, maybe(80, 8) | maybe(60, 8) << 8 | maybe(40, 8) << 16 | maybe(50, 8) << 24};
}

Encoding RandomEncoding::make_flat(u32 segment, u32 opcode) {
  const u32 low = 0xdc000000 | opcode << 18 | segment << 14 | maybe(20, 1) << 25 |
                  maybe(50, 2) << 16 | maybe(20, 1) << 13 | maybe(20, 1) << 12 | maybe(70, 12);
  const u32 saddr = chance(40) ? 0x7f : chance(50) ? 0 : scalar_register();
  return {low, bits(8) | bits(8) << 8 | saddr << 16 | maybe(30, 1) << 23 | bits(8) << 24};
}

Encoding RandomEncoding::make_smem(u32 opcode) {
  const u32 low = 0xc0000000 | opcode << 18 | maybe(60, 1) << 17 | maybe(50, 1) << 16 |
                  maybe(30, 1) << 14 | scalar_register() << 6 | bits(6);
  return {low, chance(50) ? bits(21) : chance(50) ? bits(7) : bits(32)};
}

Encoding RandomEncoding::make_buffer(Format format, u32 opcode) {
  u32 low = maybe(40, 1) << 14 | maybe(70, 2) << 12 | maybe(70, 12);
  u32 high = bits(8) | bits(8) << 8 | bits(5) << 16 | maybe(30, 1) << 23 | scalar_source() << 24;
  if (format == Format::mubuf) {
    low |= 0xe0000000 | opcode << 18 | maybe(30, 1) << 17 | maybe(30, 1) << 16 | maybe(30, 1) << 15;
  } else {
    low |= 0xe8000000 | opcode << 15 | bits(7) << 19;
    high |= maybe(30, 2) << 21;
  }
  return {low, high};
}

Encoding RandomEncoding::make(Format format, u32 opcode) {
  Encoding e = {0, literal()};
  switch (format) {
    case Format::sop1:
      e[0] = 0xbe800000 | scalar_register() << 16 | opcode << 8 | scalar_source();
      return e;
    case Format::sop2:
      e[0] = 0x80000000 | opcode << 23 | scalar_register() << 16 | scalar_source() << 8 |
             scalar_source();
      return e;
    case Format::sopc:
      e[0] = 0xbf000000 | opcode << 16 | scalar_source() << 8 | scalar_source();
      return e;
    case Format::sopk:
      e[0] = 0xb0000000 | opcode << 23 | scalar_register() << 16 | bits(16);
      return e;
    case Format::sopp:
      e[0] = 0xbf800000 | opcode << 16 | (chance(50) ? bits(16) : maybe(70, 8));
      return e;
    case Format::vop1:
      e[0] = 0x7e000000 | maybe(90, 8) << 17 | opcode << 9 | first_source(e, false);
      return e;
    case Format::vop2:
      e[0] = opcode << 25 | bits(8) << 17 | bits(8) << 9 | first_source(e, false);
      return e;
    case Format::vopc:
      e[0] = 0x7c000000 | opcode << 17 | bits(8) << 9 | first_source(e, true);
      return e;
    case Format::vop3: return make_vop3(opcode);
    case Format::vop3p: return opcode < 0x40 ? make_vop3p(opcode) : make_mfma(opcode);
    case Format::smem: return make_smem(opcode);
    case Format::ds: return make_ds(opcode);
    case Format::flat: return make_flat(0, opcode);
    case Format::scratch: return make_flat(1, opcode);
    case Format::global: return make_flat(2, opcode);
    default: return make_buffer(format, opcode);
  }
}

Encoding RandomEncoding::make_without_operands(Format format, u32 opcode) {
  no_operands_ = true;
  const Encoding encoding = make(format, opcode);
  no_operands_ = false;
  return encoding;
}

u32 opcode_count(Format format) {
  switch (format) {
    case Format::sopk: return 29;     // then SOP1, SOPC and SOPP
    case Format::vop2: return 62;     // then VOPC and VOP1
    case Format::sop2: return 96;     // then SOPK
    case Format::vop3: return 0x380;  // then VOP3P
    case Format::mtbuf: return 16;
    case Format::sop1:
    case Format::vop1:
    case Format::vopc:
    case Format::smem:
    case Format::ds: return 256;
    default: return 128;
  }
}

}  // namespace vgpu::isa::test
