// SMEM, DS, FLAT, GLOBAL, SCRATCH, MUBUF and MTBUF: two dwords.
#include "isa/decode_fields.h"

namespace vgpu::isa {
namespace {

constexpr u32 kNoSaddr = 0x7f;

// The offset is an immediate, a scalar register, or the sum of both.
bool decode_smem_offset(Decoder& d) {
  const bool imm = bit(d.low(), 17), soe = bit(d.low(), 14);
  d.flag(imm, inst_imm);
  d.flag(soe || !imm, inst_soe);
  if (imm) {
    d.inst.imm = sign_extend(bits(d.high(), 0, 21), 21);
  }
  if (soe) {
    return scalar_register(d.inst.soffset, bits(d.high(), 25, 7), Type::b32);
  }
  return imm || scalar_register(d.inst.soffset, bits(d.high(), 0, 7), Type::b32);
}

bool decode_smem_data(Decoder& d) {
  const OpInfo& op = *d.inst.op;
  const u32 sdata = bits(d.low(), 6, 7);
  if (op.dst == Type::none) {
    return true;
  }
  if (op.dst == Type::imm7) {
    d.inst.ext = sdata;
    return true;
  }
  u16 reg = op_none;
  if (!scalar_register(reg, sdata, op.dst)) {
    return false;
  }
  if (op.has(trait::load) || (op.has(trait::atomic) && (d.inst.flags & inst_glc) != 0)) {
    d.inst.dst = reg;
  }
  if (op.has(trait::store | trait::atomic)) {
    d.inst.src[1] = reg;
  }
  return true;
}

// ---- vector memory ----

// Destination and data of FLAT, MUBUF and the like; atomics return a value only with glc.
bool decode_vector_data(Decoder& d, u32 dst, u32 data, bool acc) {
  const OpInfo& op = *d.inst.op;
  const bool returns =
      op.has(trait::load) || (op.has(trait::atomic) && (d.inst.flags & inst_glc) != 0);
  d.flag(acc, inst_acc);
  if (returns && !vector_register(d.inst.dst, dst, op.dst, acc)) {
    return false;
  }
  return !op.has(trait::store | trait::atomic) ||
         vector_register(d.inst.src[1], data, op.src[1], acc);
}

bool decode_flat_address(Decoder& d, u32 vaddr, u32 saddr) {
  Inst& inst = d.inst;
  switch (inst.op->format) {
    case Format::flat: return saddr == 0 && vector_register(inst.src[0], vaddr, Type::b64);
    case Format::global:
      if (saddr == kNoSaddr) {
        return vector_register(inst.src[0], vaddr, Type::b64);
      }
      return scalar_register(inst.soffset, saddr, Type::b64) &&
             vector_register(inst.src[0], vaddr, Type::b32);
    default:
      return saddr == kNoSaddr ? vector_register(inst.src[0], vaddr, Type::b32)
                               : scalar_register(inst.soffset, saddr, Type::b32);
  }
}

bool decode_buffer_address(Decoder& d) {
  Inst& inst = d.inst;
  const bool offen = bit(d.low(), 12), idxen = bit(d.low(), 13);
  d.flag(offen, inst_offen);
  d.flag(idxen, inst_idxen);
  inst.imm = static_cast<i32>(bits(d.low(), 0, 12));
  if (offen || idxen) {
    const Type type = offen && idxen ? Type::b64 : Type::b32;
    if (!vector_register(inst.src[0], bits(d.high(), 0, 8), type)) {
      return false;
    }
  }
  return scalar_register(inst.srsrc, bits(d.high(), 16, 5) << 2, Type::b128) &&
         d.scalar_source(inst.soffset, bits(d.high(), 24, 8), Type::b32, false);
}

// lds bit 16: the data goes to LDS and there is no vdata.
bool decode_mubuf_data(Decoder& d) {
  const OpInfo& op = *d.inst.op;
  const bool lds = bit(d.low(), 16);
  d.flag(lds, inst_lds);
  if (op.has(trait::lds_only)) {
    return lds && (d.inst.flags & (inst_offen | inst_idxen)) == 0;
  }
  if (lds) {
    return op.has(trait::to_lds);
  }
  const u32 vdata = bits(d.high(), 8, 8);
  return decode_vector_data(d, vdata, vdata, d.gfx90a() && bit(d.high(), 23));
}

bool decode_mubuf(Decoder& d) {
  if (!d.begin(Format::mubuf, bits(d.low(), 18, 7), 2)) {
    return false;
  }
  const OpInfo& op = *d.inst.op;
  if (op.has(trait::cache_op)) {
    // Compilers set glc and scc in buffer_wbl2: it writes back as far as the whole system.
    const u32 allowed = op.op == Op::buffer_wbl2 ? 0b01100 : 0;
    return (bits(d.low(), 12, 5) & ~allowed) == 0 && !bit(d.high(), 23);
  }
  const bool scc = d.gfx90a() && bit(d.low(), 15);
  d.flag(bit(d.low(), 14), inst_glc);
  d.flag(bit(d.low(), 17), inst_slc);
  d.flag(scc, inst_scc);
  d.flag(!d.gfx90a() && bit(d.high(), 23) && !bit(d.low(), 16), inst_tfe);
  return !(scc && op.has(trait::no_scc)) && decode_buffer_address(d) && decode_mubuf_data(d);
}

bool decode_mtbuf(Decoder& d) {
  if (!d.begin(Format::mtbuf, bits(d.low(), 15, 4), 2)) {
    return false;
  }
  d.inst.ext = bits(d.low(), 19, 4) | bits(d.low(), 23, 3) << 4;
  d.flag(bit(d.low(), 14), inst_glc);
  d.flag(bit(d.high(), 22), inst_slc);
  d.flag(d.gfx90a() && bit(d.high(), 21), inst_scc);
  d.flag(!d.gfx90a() && bit(d.high(), 23), inst_tfe);
  const u32 vdata = bits(d.high(), 8, 8);
  return decode_buffer_address(d) &&
         decode_vector_data(d, vdata, vdata, d.gfx90a() && bit(d.high(), 23));
}

}  // namespace

bool decode_smem(Decoder& d) {
  if (!d.begin(Format::smem, bits(d.low(), 18, 8), 2)) {
    return false;
  }
  d.flag(bit(d.low(), 16), inst_glc);
  const Type base = d.inst.op->src[0];
  if (base == Type::none) {  // s_memtime, s_dcache_inv and the like
    return !bit(d.low(), 17) && decode_smem_data(d);
  }
  return scalar_register(d.inst.src[0], bits(d.low(), 0, 6) << 1, base) && decode_smem_offset(d) &&
         decode_smem_data(d);
}

bool decode_ds(Decoder& d) {
  if (!d.begin(Format::ds, bits(d.low(), 17, 8), 2)) {
    return false;
  }
  const OpInfo& op = *d.inst.op;
  const bool acc = bit(d.low(), 25), gds = bit(d.low(), 16);
  d.flag(acc, inst_acc);
  d.flag(gds, inst_gds);
  d.inst.imm = static_cast<i32>(bits(d.low(), 0, op.has(trait::two_offsets) ? 8 : 16));
  d.inst.ext = op.has(trait::two_offsets) ? bits(d.low(), 8, 8) : 0;
  const bool has_data = op.dst != Type::none || op.src[0] != Type::none || op.src[1] != Type::none;
  if (op.op == Op::ds_nop && (gds || d.inst.imm != 0)) {
    return false;
  }
  if ((acc && (!d.gfx90a() || !has_data)) ||
      (gds ? op.has(trait::no_gds) : op.has(trait::gds_only))) {
    return false;
  }
  for (int i = 0; i < 3; ++i) {
    const u32 field = bits(d.high(), 8 * i, 8);
    const bool is_data = i != 0 || op.has(trait::data_in_addr);
    const bool valid = op.src[i] == Type::none
                           ? field == 0
                           : vector_register(d.inst.src[i], field, op.src[i], acc && is_data);
    if (!valid) {
      return false;
    }
  }
  const u32 vdst = bits(d.high(), 24, 8);
  return op.dst == Type::none ? vdst == 0 : vector_register(d.inst.dst, vdst, op.dst, acc);
}

bool decode_flat(Decoder& d) {
  static constexpr Format kSegments[] = {Format::flat, Format::scratch, Format::global};
  const u32 segment = bits(d.low(), 14, 2);
  if (segment == 3 || !d.begin(kSegments[segment], bits(d.low(), 18, 7), 2)) {
    return false;
  }
  const OpInfo& op = *d.inst.op;
  const bool lds = bit(d.low(), 13), scc = bit(d.low(), 25), top = bit(d.high(), 23);
  d.flag(lds, inst_lds);
  d.flag(bit(d.low(), 16), inst_glc);
  d.flag(bit(d.low(), 17), inst_slc);
  d.flag(scc, inst_scc);
  d.flag(top && !d.gfx90a(), inst_nv);
  if ((lds && (!op.has(trait::to_lds) || top)) || (scc && (!d.gfx90a() || op.has(trait::no_scc)))) {
    return false;
  }
  const bool flat = op.format == Format::flat;
  if (flat && bit(d.low(), 12)) {
    return false;
  }
  d.inst.imm =
      flat ? static_cast<i32>(bits(d.low(), 0, 12)) : sign_extend(bits(d.low(), 0, 13), 13);
  return decode_flat_address(d, bits(d.high(), 0, 8), bits(d.high(), 16, 7)) &&
         (lds ||
          decode_vector_data(d, bits(d.high(), 24, 8), bits(d.high(), 8, 8), d.gfx90a() && top));
}

bool decode_buffer(Decoder& d) { return bit(d.low(), 27) ? decode_mtbuf(d) : decode_mubuf(d); }

}  // namespace vgpu::isa
