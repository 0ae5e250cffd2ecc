// Any eight bytes decode or are rejected, on both architectures, and what decodes is consistent.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "isa/disasm.h"

namespace {

using namespace vgpu;       // NOLINT(google-build-using-namespace)
using namespace vgpu::isa;  // NOLINT(google-build-using-namespace)

void require(bool holds, const char* what, const u32* words) {
  if (!holds) {
    std::fprintf(stderr, "%08x %08x: %s\n", words[0], words[1], what);
    std::abort();
  }
}

// The last register of an operand must exist.
bool in_range(u16 code, Type type) {
  const int last = code + dwords(type) - 1;
  if (code == op_none) {
    return true;
  }
  if (code >= op_acc0) {
    return last < op_acc0 + 256;
  }
  if (code >= op_vgpr0) {
    return last < op_acc0;
  }
  return code >= op_const0 || last < op_const0;
}

void check(Arch arch, const u32* words) {
  Inst inst;
  if (!decode(arch, words, 2, inst)) {
    const bool unnamed = disassemble(arch, words, 2).find(" encoding 0x") != std::string::npos;
    require(unnamed, "rejected, yet named", words);
    return;
  }
  require(inst.op != nullptr && inst.op->on(arch), "no opcode of this architecture", words);
  require(inst.len == 1 || inst.len == 2, "length", words);
  require(in_range(inst.dst, inst.op->dst), "destination out of range", words);
  for (int i = 0; i < 3; ++i) {
    // With a scalar base the address of a global access is an offset of 32 bits.
    const bool offset = i == 0 && inst.op->format == Format::global && inst.soffset != op_none;
    require(in_range(inst.src[i], offset ? Type::b32 : inst.op->src[i]), "source out of range",
            words);
  }
  Inst again;
  require(decode(arch, words, inst.len, again), "needs more words than its length", words);
  const std::string text = disassemble(inst);
  require(text == disassemble(again), "depends on what follows it", words);
  require(text.starts_with(inst.op->name), "text names another instruction", words);
  require(text.find('?') == std::string::npos, "text has a reserved value", words);
  require(!decode(arch, words, inst.len - 1, again), "needs fewer words than its length", words);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  u32 words[2] = {};
  std::memcpy(words, data, size < sizeof(words) ? size : sizeof(words));
  check(Arch::gfx906, words);
  check(Arch::gfx90a, words);
  return 0;
}
