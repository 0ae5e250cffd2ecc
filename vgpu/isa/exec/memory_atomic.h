// Read-modify-write operations and how to apply them to 64 lanes of global memory.
//
// An operation is a type: next(old, a, b) is the new value. `a` and `b` are the data operands in
// register order; most operations have no b. Values are bit patterns (u32 or u64).
//
// Global memory is shared with other work-groups, other processes and the CPU, so operations there
// are host atomics; the host's total order makes them at least as strong as any scope asks for.
#pragma once

#include <utility>

#include "isa/exec/float_mode.h"
#include "isa/exec/half.h"
#include "isa/exec/memory_access.h"

namespace vgpu::isa::VGPU_ENGINE {

template <class T>
using Signed = std::make_signed_t<T>;

// ---- operations ----

template <class T>
struct Unary {  // one data operand
  using Value = T;
  static constexpr int kOperands = 1;
};
template <class T>
struct Binary {  // two data operands
  using Value = T;
  static constexpr int kOperands = 2;
};

template <class T>
struct Swap : Unary<T> {
  static T next(T, T a, T) { return a; }
  static T host(T* p, T a) { return __atomic_exchange_n(p, a, __ATOMIC_SEQ_CST); }
};
template <class T>
struct Add : Unary<T> {
  static T next(T old, T a, T) { return old + a; }
  static T host(T* p, T a) { return __atomic_fetch_add(p, a, __ATOMIC_SEQ_CST); }
};
template <class T>
struct Subtract : Unary<T> {
  static T next(T old, T a, T) { return old - a; }
  static T host(T* p, T a) { return __atomic_fetch_sub(p, a, __ATOMIC_SEQ_CST); }
};
template <class T>
struct ReverseSubtract : Unary<T> {
  static T next(T old, T a, T) { return a - old; }
};
template <class T>
struct SignedMin : Unary<T> {
  static T next(T old, T a, T) {
    return static_cast<Signed<T>>(a) < static_cast<Signed<T>>(old) ? a : old;
  }
};
template <class T>
struct SignedMax : Unary<T> {
  static T next(T old, T a, T) {
    return static_cast<Signed<T>>(a) > static_cast<Signed<T>>(old) ? a : old;
  }
};
template <class T>
struct UnsignedMin : Unary<T> {
  static T next(T old, T a, T) { return a < old ? a : old; }
};
template <class T>
struct UnsignedMax : Unary<T> {
  static T next(T old, T a, T) { return a > old ? a : old; }
};
template <class T>
struct And : Unary<T> {
  static T next(T old, T a, T) { return old & a; }
};
template <class T>
struct Or : Unary<T> {
  static T next(T old, T a, T) { return old | a; }
};
template <class T>
struct Xor : Unary<T> {
  static T next(T old, T a, T) { return old ^ a; }
};
// Counts up to `a`, then from zero again.
template <class T>
struct Increment : Unary<T> {
  static T next(T old, T a, T) { return old >= a ? 0 : old + 1; }
};
template <class T>
struct Decrement : Unary<T> {
  static T next(T old, T a, T) { return old == 0 || old > a ? a : old - 1; }
};
// Memory instructions: the new value comes first, then the one to compare with.
template <class T>
struct CompareSwap : Binary<T> {
  static T next(T old, T a, T b) { return old == b ? a : old; }
};

template <class F>
using BitsOf = std::conditional_t<sizeof(F) == 4, u32, u64>;

template <class F>
struct FloatMin : Unary<BitsOf<F>> {
  using T = BitsOf<F>;
  static T next(T old, T a, T) { return std::bit_cast<F>(a) < std::bit_cast<F>(old) ? a : old; }
};
template <class F>
struct FloatMax : Unary<BitsOf<F>> {
  using T = BitsOf<F>;
  static T next(T old, T a, T) { return std::bit_cast<F>(a) > std::bit_cast<F>(old) ? a : old; }
};
// Rounds and treats denormals as MXCSR says at the time.
template <class F>
struct FloatAdd : Unary<BitsOf<F>> {
  using T = BitsOf<F>;
  static T next(T old, T a, T) {
    return std::bit_cast<T>(std::bit_cast<F>(old) + std::bit_cast<F>(a));
  }
};

struct PackedHalfAdd : Unary<u32> {
  static u32 next(u32 old, u32 a, u32) {
    const auto sum = [](u32 x, u32 y) {
      return float_to_half(half_to_float(x & 0xffff) + half_to_float(y & 0xffff)) & 0xffff;
    };
    return sum(old, a) | sum(old >> 16, a >> 16) << 16;
  }
};

// Floating-point atomics are done in the caches, which do not know the wave's MODE: they round to
// nearest, flush single-precision denormals and keep double and half ones (LLVM,
// SITargetLowering, fpModeMatchesGlobalFPAtomicMode).
template <class Operation>
constexpr u32 kCacheDenormals = 3;
template <>
inline constexpr u32 kCacheDenormals<FloatAdd<float>> = 0;

class CacheFloatMode {
 public:
  explicit CacheFloatMode(u32 denormals) : wave_mode_(_mm_getcsr()) {
    _mm_setcsr(mxcsr_of(0, denormals));
  }
  ~CacheFloatMode() { _mm_setcsr(wave_mode_); }
  CacheFloatMode(const CacheFloatMode&) = delete;
  CacheFloatMode& operator=(const CacheFloatMode&) = delete;

 private:
  const u32 wave_mode_;
};

// ---- applying them ----

template <class Operation>
typename Operation::Value host_atomic(void* pointer, typename Operation::Value a,
                                      typename Operation::Value b) {
  using T = typename Operation::Value;
  auto* p = static_cast<T*>(pointer);
  if constexpr (requires { Operation::host(p, a); }) {
    return Operation::host(p, a);
  } else {
    T old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
    for (;;) {
      const T next = Operation::next(old, a, b);
      if (next == old ||
          __atomic_compare_exchange_n(p, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        return old;
      }
    }
  }
}

template <class T>
T lane_value(const Registers<sizeof(T) / 4>& registers, u32 lane) {
  if constexpr (sizeof(T) == 4) {
    return registers.reg[0][lane];
  } else {
    return registers.reg[0][lane] | u64{registers.reg[1][lane]} << 32;
  }
}

template <class T>
void set_lane_value(const Registers<sizeof(T) / 4>& registers, u32 lane, T value) {
  registers.reg[0][lane] = static_cast<u32>(value);
  if constexpr (sizeof(T) == 8) {
    registers.reg[1][lane] = static_cast<u32>(value >> 32);
  }
}

// The registers of an atomic: data operands, and the destination if the old value is returned.
template <class Operation>
struct AtomicOperands {
  using T = typename Operation::Value;
  static constexpr int kWords = sizeof(T) / 4;

  bool returns;
  Registers<kWords> a, b, result;

  // Operand b follows a in consecutive registers unless `second` names it.
  AtomicOperands(Wave& wave, const Inst& inst, u16 second = op_none)
      : returns(inst.dst != op_none),
        a(wave, inst.src[1]),
        b(wave, second != op_none           ? second
                : Operation::kOperands == 2 ? static_cast<u16>(inst.src[1] + kWords)
                                            : inst.src[1]),
        result(wave, inst.dst != op_none ? inst.dst : inst.src[1]) {}

  template <class Apply>
  void run(u32 lane, Apply&& apply) const {
    const T old = apply(lane_value<T>(a, lane), lane_value<T>(b, lane));
    if (returns) {
      set_lane_value<T>(result, lane, old);
    }
  }
};

// Whether a sequence of such operations can be done as one: next(next(m, a), b) is next(m, c) with
// c = next(a, b), which then needs no more than one host atomic.
template <class Operation>
constexpr bool kCombines = false;
template <class T>
inline constexpr bool kCombines<Add<T>> = true;
template <class T>
inline constexpr bool kCombines<SignedMin<T>> = true;
template <class T>
inline constexpr bool kCombines<SignedMax<T>> = true;
template <class T>
inline constexpr bool kCombines<UnsignedMin<T>> = true;
template <class T>
inline constexpr bool kCombines<UnsignedMax<T>> = true;
template <class T>
inline constexpr bool kCombines<And<T>> = true;
template <class T>
inline constexpr bool kCombines<Or<T>> = true;
template <class T>
inline constexpr bool kCombines<Xor<T>> = true;

// All lanes of the mask on one address, as if one after the other with nobody in between.
template <class Operation>
void atomic_combined(const AtomicOperands<Operation>& operands, u8* pointer, u64 mask) {
  using T = typename Operation::Value;
  T all = lane_value<T>(operands.a, static_cast<u32>(std::countr_zero(mask)));
  for_lanes(mask & (mask - 1),
            [&](u32 lane) { all = Operation::next(all, lane_value<T>(operands.a, lane), 0); });
  T old = host_atomic<Operation>(pointer, all, 0);
  if (operands.returns) {
    for_lanes(mask, [&](u32 lane) {
      operands.run(lane, [&](T a, T b) { return std::exchange(old, Operation::next(old, a, b)); });
    });
  }
}

// Applies Operation for every lane in mask. A misaligned address is a violation.
template <class Operation>
void atomic_lanes(Wave& wave, const Inst& inst, const LaneAddresses& at, u64 mask) {
  using T = typename Operation::Value;
  if (mask == 0) {
    return;
  }
  const AtomicOperands<Operation> operands(wave, inst);
  if constexpr (kCombines<Operation>) {
    const u64 va = at[static_cast<u32>(std::countr_zero(mask))];
    if (!at.high && va % sizeof(T) == 0 && uniform(at.low, mask)) {
      if (u8* pointer = wave.memory->translate(va, page_write)) {
        atomic_combined(operands, pointer, mask);
        return;
      }
    }
  }
  for (; mask; mask &= mask - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(mask));
    const u64 va = at[lane];
    u8* pointer = wave.memory->translate(va, page_write);
    if (!pointer || va % sizeof(T) != 0) {
      stop_fault(wave, inst, va, true);
      wave.fault.reason = pointer ? "misaligned atomic" : wave.fault.reason;
      return;
    }
    operands.run(lane, [&](T a, T b) { return host_atomic<Operation>(pointer, a, b); });
  }
}

}  // namespace vgpu::isa::VGPU_ENGINE
