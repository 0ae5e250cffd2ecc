// llvm-mc as an oracle: disassembles and assembles many instructions in one process.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "isa/inst.h"

namespace vgpu::isa::test {

using Encoding = std::array<u32, 2>;

struct LlvmText {
  std::string text;
  int words;  // how much of the encoding the instruction takes
};

// The tables follow the spelling of LLVM 15: no other version will do.
bool have_llvm_mc();

// Per encoding, the instruction at its beginning; nothing if LLVM rejects it.
std::vector<std::optional<LlvmText>> llvm_disassemble(Arch arch,
                                                      const std::vector<Encoding>& encodings);

// Per line, its encoding; nothing if LLVM rejects it. Unused words are zero.
std::vector<std::optional<Encoding>> llvm_assemble(Arch arch,
                                                   const std::vector<std::string>& lines);

}  // namespace vgpu::isa::test
