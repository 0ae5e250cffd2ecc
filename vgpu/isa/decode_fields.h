// What the decoders of the encoding families share. Private to decode*.cpp.
#pragma once

#include "isa/decode.h"

namespace vgpu::isa {

constexpr u32 bits(u32 word, int low, int count) { return word >> low & ((u32{1} << count) - 1); }
constexpr bool bit(u32 word, int index) { return (word >> index & 1) != 0; }

constexpr i32 sign_extend(u32 value, int width) {
  return static_cast<i32>(value << (32 - width)) >> (32 - width);
}

struct Decoder {
  Arch arch;
  const u32* words;
  int available;
  Inst& inst;

  u32 low() const { return words[0]; }
  u32 high() const { return words[1]; }
  bool gfx90a() const { return arch == Arch::gfx90a; }

  // Looks the opcode up and notes the length; false if there is no such opcode or it is cut off.
  bool begin(Format format, u32 opcode, int length);
  // Takes the dword after a one-dword instruction.
  bool take_second_word(u32& word);

  void flag(bool on, InstFlags which) {
    if (on) {
      inst.flags = static_cast<u16>(inst.flags | which);
    }
  }

  // An 8-bit scalar source code (register or constant), with the literal if it is one.
  bool scalar_source(u16& out, u32 code, Type type, bool literal_allowed);
  // A 9-bit source code: as above, or a VGPR from 256 on.
  bool vector_source(u16& out, u32 code, Type type, bool literal_allowed);
};

// A register tuple of the scalar file. Aligns the code as hardware does; false if the code names
// no register or the tuple is not all in one file.
bool scalar_register(u16& out, u32 code, Type type);
// A VGPR (accumulation register if acc) tuple; false if it runs past the last register.
bool vector_register(u16& out, u32 number, Type type, bool acc = false);

bool decode_scalar(Decoder& d);  // SOP1, SOP2, SOPC, SOPK, SOPP
bool decode_vop12c(Decoder& d);  // VOP1, VOP2, VOPC with SDWA and DPP
bool decode_vop3(Decoder& d);    // VOP3 and VOP3P
bool decode_smem(Decoder& d);
bool decode_ds(Decoder& d);
bool decode_flat(Decoder& d);    // FLAT, GLOBAL, SCRATCH
bool decode_buffer(Decoder& d);  // MUBUF, MTBUF

}  // namespace vgpu::isa
