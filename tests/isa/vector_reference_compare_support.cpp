// References of V_CMP and V_CMPX. The relation and the operand type are read off the mnemonic.
#include <cstring>
#include <string>

#include "isa/vector_reference_support.h"

namespace vgpu::isa::test {
namespace {

// How two numbers stand to each other.
enum Relation { less = 1, equal = 2, greater = 4, unordered = 8 };

template <class T>
int relate(T a, T b) {
  return a < b ? less : a > b ? greater : a == b ? equal : unordered;
}

int relation_of(const LaneInputs& in, const std::string& type) {
  if (type == "f16")
    return relate(in.h(0), in.h(1));
  if (type == "f32")
    return relate(in.f(0), in.f(1));
  if (type == "f64")
    return relate(in.d(0), in.d(1));
  if (type == "i16")
    return relate(in.hs(0), in.hs(1));
  if (type == "u16")
    return relate(in.hu(0), in.hu(1));
  if (type == "i32")
    return relate(in.s(0), in.s(1));
  if (type == "u32")
    return relate(in.u(0), in.u(1));
  if (type == "i64")
    return relate(in.sl(0), in.sl(1));
  return relate(in.source[0], in.source[1]);
}

// The relations for which a comparison is true.
int accepted(const std::string& name) {
  static const struct {
    const char* name;
    int relations;
  } kNames[] = {{"f", 0},
                {"lt", less},
                {"eq", equal},
                {"le", less | equal},
                {"gt", greater},
                {"lg", less | greater},
                {"ge", greater | equal},
                {"o", less | equal | greater},
                {"u", unordered},
                {"nge", less | unordered},
                {"nlg", equal | unordered},
                {"ngt", less | equal | unordered},
                {"nle", greater | unordered},
                {"neq", less | greater | unordered},
                {"nlt", greater | equal | unordered},
                {"ne", less | greater},
                {"tru", 15},
                {"t", 15}};
  for (const auto& entry : kNames) {
    if (name == entry.name) {
      return entry.relations;
    }
  }
  return -1;
}

// v_cmp_<relation>_<type> or v_cmpx_...
std::pair<std::string, std::string> parts(const char* mnemonic) {
  const std::string name = mnemonic;
  const auto first = name.find('_', 2), second = name.rfind('_');
  return {name.substr(first + 1, second - first - 1), name.substr(second + 1)};
}

LaneResult compare(const LaneInputs& in) {
  const auto [relation, type] = parts(in.op.name);
  return {.flag = (accepted(relation) & relation_of(in, type)) != 0};
}

LaneResult classify(const LaneInputs& in) {
  const std::string type = parts(in.op.name).second;
  const int width = type == "f16" ? 16 : type == "f32" ? 32 : 64;
  const int mantissa_bits = type == "f16" ? 10 : type == "f32" ? 23 : 52;
  const u64 value = in.source[0] & (width == 64 ? ~u64{0} : (u64{1} << width) - 1);
  const bool negative = value >> (width - 1);
  const u64 mantissa = value & ((u64{1} << mantissa_bits) - 1);
  const u64 exponent = value >> mantissa_bits & ((u64{1} << (width - 1 - mantissa_bits)) - 1);
  const bool top = exponent == (u64{1} << (width - 1 - mantissa_bits)) - 1;
  int bit = 0;
  if (top && mantissa) {
    bit = mantissa >> (mantissa_bits - 1) ? 1 : 0;  // quiet, signalling
  } else if (top) {
    bit = negative ? 2 : 9;
  } else if (exponent) {
    bit = negative ? 3 : 8;
  } else if (mantissa) {
    bit = negative ? 4 : 7;
  } else {
    bit = negative ? 5 : 6;
  }
  return {.flag = (in.u(1) >> bit & 1) != 0};
}

}  // namespace

Reference compare_reference(Op op) {
  for (const OpInfo& row : all_ops()) {
    if (row.op == op && std::strncmp(row.name, "v_cmp", 5) == 0) {
      return parts(row.name).first == "class" ? classify : compare;
    }
  }
  return nullptr;
}

}  // namespace vgpu::isa::test
