// SOP1: D = op S0, and the EXEC family.
#include <bit>

#include "isa/exec/scalar.h"
#include "isa/exec/scalar_operands.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

// F(a, scc) -> result
template <class D, class A, auto F>
void unary(Wave& wave, const Inst& inst) {
  set_destination<D>(wave, inst.dst, F(source<A>(wave, inst, inst.src[0]), wave.scc));
}

// F(old D, a, scc) -> result: operations that keep part of the destination.
template <class D, class A, auto F>
void modify(Wave& wave, const Inst& inst) {
  const D old = source<D>(wave, inst, inst.dst);
  set_destination<D>(wave, inst.dst, F(old, source<A>(wave, inst, inst.src[0]), wave.scc));
}

template <class T>
T reverse_bits(T value, u8&) {
  T result = 0;
  for (u32 i = 0; i < sizeof(T) * 8; ++i) {
    result = result << 1 | (value >> i & 1);
  }
  return result;
}

// Every quad (four bits) with any bit set becomes all ones.
template <class T>
T whole_quads(T value, u8& scc) {
  const T any = (value | value >> 1 | value >> 2 | value >> 3) & static_cast<T>(~T{0} / 15);
  return nonzero<T>(any * 15, scc);
}

// One bit per quad that has any bit set.
template <class T>
T quad_mask(T value, u8& scc) {
  T result = 0;
  for (u32 quad = 0; quad < sizeof(T) * 2; ++quad) {
    result |= T{(value >> quad * 4 & 15) != 0} << quad;
  }
  return nonzero<T>(result, scc);
}

// The position of the first one from the bottom or the top; -1 if there is none.
template <class T>
u32 first_one(T value, u8&) {
  return value ? std::countr_zero(value) : ~0u;
}
template <class T>
u32 first_zero(T value, u8& scc) {
  return first_one<T>(~value, scc);
}
template <class T>
u32 leading_zeros(T value, u8&) {
  return value ? std::countl_zero(value) : ~0u;
}
// The number of bits at the top that equal the sign; -1 if all do.
template <class T>
u32 leading_signs(T value, u8& scc) {
  return leading_zeros<T>(
      value ^ static_cast<T>(static_cast<std::make_signed_t<T>>(value) >> (sizeof(T) * 8 - 1)),
      scc);
}

u64 replicate_bits(u32 value, u8&) {
  u64 result = 0;
  for (int i = 0; i < 32; ++i) {
    result |= u64{value >> i & 1} * 3 << 2 * i;
  }
  return result;
}

// D = EXEC; EXEC = F(S0, EXEC); SCC = EXEC is not zero.
template <auto F>
void save_exec(Wave& wave, const Inst& inst) {
  const u64 mask = source<u64>(wave, inst, inst.src[0]);
  const u64 old = wave.exec();
  set_scalar64(wave, inst.dst, old);
  wave.set_exec(nonzero<u64>(F(mask, old), wave.scc));
}

// EXEC = F(S0, EXEC); D = the new EXEC.
template <auto F>
void write_exec(Wave& wave, const Inst& inst) {
  const u64 mask = source<u64>(wave, inst, inst.src[0]);
  wave.set_exec(nonzero<u64>(F(mask, wave.exec()), wave.scc));
  set_scalar64(wave, inst.dst, wave.exec());
}

Handler select_exec_mask(Op op) {
  switch (op) {
    case Op::s_and_saveexec_b64: return save_exec<[](u64 s, u64 e) { return s & e; }>;
    case Op::s_or_saveexec_b64: return save_exec<[](u64 s, u64 e) { return s | e; }>;
    case Op::s_xor_saveexec_b64: return save_exec<[](u64 s, u64 e) { return s ^ e; }>;
    case Op::s_andn2_saveexec_b64: return save_exec<[](u64 s, u64 e) { return s & ~e; }>;
    case Op::s_orn2_saveexec_b64: return save_exec<[](u64 s, u64 e) { return s | ~e; }>;
    case Op::s_nand_saveexec_b64: return save_exec<[](u64 s, u64 e) { return ~(s & e); }>;
    case Op::s_nor_saveexec_b64: return save_exec<[](u64 s, u64 e) { return ~(s | e); }>;
    case Op::s_xnor_saveexec_b64: return save_exec<[](u64 s, u64 e) { return ~(s ^ e); }>;
    case Op::s_andn1_saveexec_b64: return save_exec<[](u64 s, u64 e) { return ~s & e; }>;
    case Op::s_orn1_saveexec_b64: return save_exec<[](u64 s, u64 e) { return ~s | e; }>;
    case Op::s_andn1_wrexec_b64: return write_exec<[](u64 s, u64 e) { return ~s & e; }>;
    case Op::s_andn2_wrexec_b64: return write_exec<[](u64 s, u64 e) { return s & ~e; }>;
    default: return nullptr;
  }
}

template <class T>
T bit_of(u32 position) {
  return T{1} << (position & (sizeof(T) * 8 - 1));
}

Handler select_move(Op op) {
  switch (op) {
    case Op::s_mov_b32: return unary<u32, u32, [](u32 a, u8&) { return a; }>;
    case Op::s_mov_b64: return unary<u64, u64, [](u64 a, u8&) { return a; }>;
    case Op::s_cmov_b32: return modify<u32, u32, [](u32 d, u32 a, u8& scc) { return scc ? a : d; }>;
    case Op::s_cmov_b64: return modify<u64, u64, [](u64 d, u64 a, u8& scc) { return scc ? a : d; }>;
    case Op::s_bitset0_b32:
      return modify<u32, u32, [](u32 d, u32 a, u8&) { return d & ~bit_of<u32>(a); }>;
    case Op::s_bitset0_b64:
      return modify<u64, u32, [](u64 d, u32 a, u8&) { return d & ~bit_of<u64>(a); }>;
    case Op::s_bitset1_b32:
      return modify<u32, u32, [](u32 d, u32 a, u8&) { return d | bit_of<u32>(a); }>;
    case Op::s_bitset1_b64:
      return modify<u64, u32, [](u64 d, u32 a, u8&) { return d | bit_of<u64>(a); }>;
    case Op::s_movk_i32:
      return [](Wave& wave, const Inst& inst) {
        set_scalar32(wave, inst.dst, static_cast<u32>(inst.imm));
      };
    case Op::s_cmovk_i32:
      return [](Wave& wave, const Inst& inst) {
        if (wave.scc) {
          set_scalar32(wave, inst.dst, static_cast<u32>(inst.imm));
        }
      };
    default: return nullptr;
  }
}

template <class T>
u32 ones(T value, u8& scc) {
  return nonzero<u32>(std::popcount(value), scc);
}

Handler select_bits(Op op) {
  switch (op) {
    case Op::s_not_b32: return unary<u32, u32, [](u32 a, u8& scc) { return nonzero(~a, scc); }>;
    case Op::s_not_b64: return unary<u64, u64, [](u64 a, u8& scc) { return nonzero(~a, scc); }>;
    case Op::s_wqm_b32: return unary<u32, u32, whole_quads<u32>>;
    case Op::s_wqm_b64: return unary<u64, u64, whole_quads<u64>>;
    case Op::s_quadmask_b32: return unary<u32, u32, quad_mask<u32>>;
    case Op::s_quadmask_b64: return unary<u64, u64, quad_mask<u64>>;
    case Op::s_brev_b32: return unary<u32, u32, reverse_bits<u32>>;
    case Op::s_brev_b64: return unary<u64, u64, reverse_bits<u64>>;
    case Op::s_bcnt0_i32_b32: return unary<u32, u32, [](u32 a, u8& scc) { return ones(~a, scc); }>;
    case Op::s_bcnt0_i32_b64: return unary<u32, u64, [](u64 a, u8& scc) { return ones(~a, scc); }>;
    case Op::s_bcnt1_i32_b32: return unary<u32, u32, ones<u32>>;
    case Op::s_bcnt1_i32_b64: return unary<u32, u64, ones<u64>>;
    case Op::s_ff0_i32_b32: return unary<u32, u32, first_zero<u32>>;
    case Op::s_ff0_i32_b64: return unary<u32, u64, first_zero<u64>>;
    case Op::s_ff1_i32_b32: return unary<u32, u32, first_one<u32>>;
    case Op::s_ff1_i32_b64: return unary<u32, u64, first_one<u64>>;
    case Op::s_flbit_i32_b32: return unary<u32, u32, leading_zeros<u32>>;
    case Op::s_flbit_i32_b64: return unary<u32, u64, leading_zeros<u64>>;
    case Op::s_flbit_i32: return unary<u32, u32, leading_signs<u32>>;
    case Op::s_flbit_i32_i64: return unary<u32, u64, leading_signs<u64>>;
    case Op::s_sext_i32_i8:
      return unary<i32, u32, [](u32 a, u8&) { return i32{static_cast<i8>(a)}; }>;
    case Op::s_sext_i32_i16:
      return unary<i32, u32, [](u32 a, u8&) { return i32{static_cast<i16>(a)}; }>;
    case Op::s_abs_i32:
      return unary<u32, u32,
                   [](u32 a, u8& scc) { return nonzero(static_cast<i32>(a) < 0 ? -a : a, scc); }>;
    case Op::s_bitreplicate_b64_b32: return unary<u64, u32, replicate_bits>;
    default: return nullptr;
  }
}

}  // namespace

Handler select_sop1(Op op) {
  for (Handler found : {select_move(op), select_bits(op), select_exec_mask(op)}) {
    if (found) {
      return found;
    }
  }
  return nullptr;
}

}  // namespace vgpu::isa::VGPU_ENGINE
