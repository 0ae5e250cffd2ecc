// DS atomics. Opcodes come in groups of 32: without and with return, 32 and 64 bits wide, and
// (gfx906) with the operand in LDS itself; the low five bits name the operation in every group.
#include "isa/exec/memory.h"
#include "isa/exec/memory_lds.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

// DS compares with the first operand and stores the second; memory instructions do the reverse.
template <class T>
struct CompareStore : Binary<T> {
  static T next(T old, T a, T b) { return old == a ? b : old; }
};
template <class F>
struct CompareStoreFloat : Binary<BitsOf<F>> {
  using T = BitsOf<F>;
  static T next(T old, T a, T b) { return std::bit_cast<F>(old) == std::bit_cast<F>(a) ? b : old; }
};
template <class T>
struct MaskedOr : Binary<T> {
  static T next(T old, T a, T b) { return (old & ~a) | b; }
};
struct Wrap : Binary<u32> {
  static u32 next(u32 old, u32 a, u32 b) { return old >= a ? old - a : old + b; }
};
// Each half is replaced by the operand's 31 bits if the operand's top bit is set.
struct ConditionalExchange : Unary<u64> {
  static u32 half(u32 old, u32 a) { return a >> 31 ? a & 0x7fffffff : old; }
  static u64 next(u64 old, u64 a, u64) {
    const u64 high = half(static_cast<u32>(old >> 32), static_cast<u32>(a >> 32));
    return half(static_cast<u32>(old), static_cast<u32>(a)) | high << 32;
  }
};

template <class Operation>
void modify(Wave& wave, const Inst& inst) {
  const AtomicOperands<Operation> operands(wave, inst, inst.src[2]);
  atomic_lds<Operation>(wave, operands, vector(wave, inst.src[0]), inst.imm, wave.exec());
}

// f64 follows the double half of MODE; f32 the mode the host is in already.
template <class Operation>
void modify_double(Wave& wave, const Inst& inst) {
  const DoubleMode mode(wave);
  modify<Operation>(wave, inst);
}

// Exchanges two elements at once and returns both.
template <class T, u32 kScale>
void exchange2(Wave& wave, const Inst& inst) {
  constexpr int kWords = sizeof(T) / 4;
  constexpr u32 kUnit = sizeof(T) * kScale;
  const u32* address = vector(wave, inst.src[0]);
  const Registers<kWords> first(wave, inst.src[1]), second(wave, inst.src[2]);
  const Registers<kWords> old_first(wave, inst.dst);
  const Registers<kWords> old_second(wave, static_cast<u16>(inst.dst + kWords));
  for_lanes(wave.exec(), [&](u32 lane) {
    const u32 at = address[lane];
    const T a = lane_value<T>(first, lane), b = lane_value<T>(second, lane);
    set_lane_value<T>(old_first, lane, modify_lds<Swap<T>>(wave, at + inst.imm * kUnit, a, 0));
    set_lane_value<T>(old_second, lane, modify_lds<Swap<T>>(wave, at + inst.ext * kUnit, b, 0));
  });
}

// DS[A] = DS[A] op DS[B]. B is a signed number of dwords away from A: in the offset field, or in
// the upper bits of the address if the offset's top bit is set.
template <class Operation>
void modify_by_memory(Wave& wave, const Inst& inst) {
  using T = typename Operation::Value;
  const u32* address = vector(wave, inst.src[0]);
  const bool in_address = inst.imm & 0x8000;
  for_lanes(wave.exec(), [&](u32 lane) {
    const u32 a = in_address ? address[lane] & 0x1ffff : address[lane];
    const i32 distance =
        in_address ? static_cast<i32>(address[lane]) >> 17 : static_cast<i16>(inst.imm << 1) >> 1;
    const u32 b = a + static_cast<u32>(distance * 4);
    const T operand = in_lds(wave, b, sizeof(T)) ? read_host<T>(wave.lds + b) : 0;
    modify_lds<Operation>(wave, a, operand, 0);
  });
}

enum class Variant { from_register, from_memory };

template <Variant kVariant, class Operation, bool kDouble = false>
Handler handler_of() {
  if constexpr (kVariant == Variant::from_memory) {
    return modify_by_memory<Operation>;
  } else if constexpr (kDouble) {
    return modify_double<Operation>;
  } else {
    return modify<Operation>;
  }
}

template <class T, Variant kVariant>
Handler select_operation(u32 code) {
  using F = std::conditional_t<sizeof(T) == 4, float, double>;
  constexpr bool kDouble = sizeof(T) == 8;
  switch (code) {
    case 0x00: return handler_of<kVariant, Add<T>>();
    case 0x01: return handler_of<kVariant, Subtract<T>>();
    case 0x02: return handler_of<kVariant, ReverseSubtract<T>>();
    case 0x03: return handler_of<kVariant, Increment<T>>();
    case 0x04: return handler_of<kVariant, Decrement<T>>();
    case 0x05: return handler_of<kVariant, SignedMin<T>>();
    case 0x06: return handler_of<kVariant, SignedMax<T>>();
    case 0x07: return handler_of<kVariant, UnsignedMin<T>>();
    case 0x08: return handler_of<kVariant, UnsignedMax<T>>();
    case 0x09: return handler_of<kVariant, And<T>>();
    case 0x0a: return handler_of<kVariant, Or<T>>();
    case 0x0b: return handler_of<kVariant, Xor<T>>();
    case 0x0d: return handler_of<kVariant, Swap<T>>();
    case 0x12: return handler_of<kVariant, FloatMin<F>, kDouble>();
    case 0x13: return handler_of<kVariant, FloatMax<F>, kDouble>();
    case 0x15:  // 32 bits
    case 0x1c: return handler_of<kVariant, FloatAdd<F>, kDouble>();
    default: return nullptr;
  }
}

template <class T>
Handler select_two_operands(u32 code) {
  using F = std::conditional_t<sizeof(T) == 4, float, double>;
  switch (code) {
    case 0x0c: return modify<MaskedOr<T>>;
    case 0x0e: return exchange2<T, 1>;
    case 0x0f: return exchange2<T, 64>;
    case 0x10: return modify<CompareStore<T>>;
    case 0x11: return modify<CompareStoreFloat<F>>;
    default: return select_operation<T, Variant::from_register>(code);
  }
}

}  // namespace

Handler select_ds_atomic(const Inst& inst) {
  if (inst.flags & inst_gds) {
    return nullptr;
  }
  const u32 code = inst.op->opcode & 0x1f;
  switch (inst.op->op) {
    case Op::ds_wrap_rtn_b32: return modify<Wrap>;
    case Op::ds_condxchg32_rtn_b64: return modify<ConditionalExchange>;
    default: break;
  }
  switch (inst.op->opcode & 0xe0) {
    case 0x00:
    case 0x20: return select_two_operands<u32>(code);
    case 0x40:
    case 0x60: return select_two_operands<u64>(code);
    case 0x80: return select_operation<u32, Variant::from_memory>(code);
    case 0xc0: return select_operation<u64, Variant::from_memory>(code);
    default: return nullptr;
  }
}

}  // namespace vgpu::isa::VGPU_ENGINE
