// Finding the encoding, and operands. The top bits of the first dword tell the encodings apart
// ("CDNA2 ISA", chapter 13).
#include "isa/decode.h"

#include "isa/decode_fields.h"

namespace vgpu::isa {

bool Decoder::begin(Format format, u32 opcode, int length) {
  inst.op = find_op(arch, format, opcode);
  inst.len = static_cast<u8>(length);
  return inst.op != nullptr && available >= length;
}

bool Decoder::take_second_word(u32& word) {
  inst.len = 2;
  if (available < 2) {
    return false;
  }
  word = words[1];
  return true;
}

bool scalar_register(u16& out, u32 code, Type type) {
  const u32 count = static_cast<u32>(dwords(type));
  const u32 align = count == 1 ? 1 : count == 2 ? 2 : 4;
  const u32 aligned = code & ~(align - 1);
  out = static_cast<u16>(aligned);
  if (code < op_flat_scratch) {
    return aligned + count <= op_flat_scratch;
  }
  if (code >= op_ttmp0 && code < op_m0) {
    return aligned + count <= op_m0;
  }
  // FLAT_SCRATCH, XNACK_MASK, VCC and EXEC are pairs; M0 is a single register. 125 is not used.
  out = static_cast<u16>(code);
  if (count == 1) {
    return code < op_const0 && code != op_m0 + 1;
  }
  return count == 2 &&
         (code == op_flat_scratch || code == op_xnack_mask || code == op_vcc || code == op_exec);
}

bool vector_register(u16& out, u32 number, Type type, bool acc) {
  out = static_cast<u16>((acc ? op_acc0 : op_vgpr0) + number);
  return number + static_cast<u32>(dwords(type)) <= 256;
}

bool Decoder::scalar_source(u16& out, u32 code, Type type, bool literal_allowed) {
  if (code < op_const0) {
    return scalar_register(out, code, type);
  }
  out = static_cast<u16>(code);
  if (code == op_literal) {
    u32 word = 0;
    const bool taken = literal_allowed && take_second_word(word);
    inst.imm = static_cast<i32>(word);
    return taken;
  }
  if (code == op_lds_direct) {
    return dwords(type) == 1;
  }
  return code <= 208 || (code >= op_shared_base && code <= op_float0 + 8) ||
         (code >= op_vccz && code <= op_scc);
}

bool Decoder::vector_source(u16& out, u32 code, Type type, bool literal_allowed) {
  return code < op_vgpr0 ? scalar_source(out, code, type, literal_allowed)
                         : vector_register(out, code - op_vgpr0, type);
}

bool decode(Arch arch, const u32* words, int available, Inst& inst) {
  inst = Inst{};
  if (available < 1) {
    return false;
  }
  Decoder d{arch, words, available, inst};
  const u32 word = words[0];
  if (!bit(word, 31)) {
    return decode_vop12c(d);
  }
  if (!bit(word, 30)) {
    return decode_scalar(d);
  }
  switch (bits(word, 26, 6)) {
    case 0b110000: return decode_smem(d);
    case 0b110100: return decode_vop3(d);
    case 0b110110: return decode_ds(d);
    case 0b110111: return decode_flat(d);
    case 0b111000:
    case 0b111010: return decode_buffer(d);
    default: return false;  // see encoding_kind()
  }
}

const char* encoding_kind(u32 word) {
  switch (bits(word, 26, 6)) {
    case 0b110001: return "export";
    case 0b110101: return "interpolation";
    case 0b111100: return "image";
    default: return "unknown";
  }
}

}  // namespace vgpu::isa
