// The decoder and the disassembler against llvm-mc: every opcode of both architectures, with
// random operands, compared as text.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "isa/disasm.h"
#include "isa/random_encoding_support.h"

namespace vgpu::isa::test {
namespace {

constexpr Format kFormats[] = {
    Format::sop1, Format::sop2,   Format::sopk,    Format::sopc,  Format::sopp,  Format::smem,
    Format::vop1, Format::vop2,   Format::vopc,    Format::vop3,  Format::vop3p, Format::ds,
    Format::flat, Format::global, Format::scratch, Format::mubuf, Format::mtbuf};
constexpr const char* kFormatNames[] = {"sop1", "sop2",   "sopk",    "sopc",  "sopp",  "smem",
                                        "vop1", "vop2",   "vopc",    "vop3",  "vop3p", "ds",
                                        "flat", "global", "scratch", "mubuf", "mtbuf"};

struct Decoded {
  bool known = false;
  Inst inst;
  std::string text;
};

Decoded decode_ours(Arch arch, const Encoding& encoding) {
  Decoded result;
  result.known = decode(arch, encoding.data(), 2, result.inst);
  if (result.known) {
    result.text = disassemble(result.inst);
  }
  return result;
}

std::string show(const Encoding& encoding) {
  return fmt::format("{:08x} {:08x}", encoding[0], encoding[1]);
}

// Encodings llvm-mc prints, and even assembles, that have no meaning on the hardware: we reject
// them.
bool has_no_meaning(const std::string& text) {
  const auto contains = [&text](const char* part) { return text.find(part) != std::string::npos; };
  const std::string mnemonic = text.substr(0, text.find(' '));
  const bool constant_destination = text.starts_with(mnemonic + " src_");
  const bool constant_as_register_base = mnemonic == "s_movrels_b32" && contains("src_");
  const bool sext_outside_sdwa = contains("sext(") && !contains("_sdwa");
  const bool floats = contains("_f16") || contains("_f32");
  const bool sign_of_integer = !floats && (contains(" neg_lo:") || contains(" neg_hi:"));
  return constant_destination || constant_as_register_base || sext_outside_sdwa || sign_of_integer;
}

class DecodeOracle : public testing::TestWithParam<std::tuple<Arch, int>> {
 protected:
  void SetUp() override {
    if (!have_llvm_mc()) {
      GTEST_SKIP() << "llvm-mc-15 is not installed";
    }
  }
  Arch arch() const { return std::get<0>(GetParam()); }
  Format format() const { return kFormats[std::get<1>(GetParam())]; }

  // Encodings of every opcode in the tables of this architecture, `count` of each.
  std::vector<Encoding> random_encodings(int count, u64 seed) const {
    RandomEncoding random(seed);
    std::vector<Encoding> encodings;
    for (const OpInfo& op : all_ops()) {
      for (int i = 0; i < count && op.format == format() && op.on(arch()); ++i) {
        encodings.push_back(i % 4 == 0 ? random.make_without_operands(op.format, op.opcode)
                                       : random.make(op.format, op.opcode));
      }
    }
    return encodings;
  }

  // Fails the test with the first few complaints.
  static void report(const std::vector<std::string>& complaints) {
    std::string list;
    for (size_t i = 0; i < complaints.size() && i < 10; ++i) {
      list += complaints[i] + "\n";
    }
    EXPECT_TRUE(complaints.empty()) << complaints.size() << " differences:\n" << list;
  }
};

TEST_P(DecodeOracle, TextAndLengthAgreeAndWhatLlvmRejectsIsRejected) {
  const std::vector<Encoding> encodings = random_encodings(24, 1);
  const auto llvm = llvm_disassemble(arch(), encodings);
  std::vector<std::string> complaints;
  for (size_t i = 0; i < encodings.size(); ++i) {
    const Decoded ours = decode_ours(arch(), encodings[i]);
    if (!ours.known) {
      continue;
    }
    if (!llvm[i]) {
      complaints.push_back(show(encodings[i]) + ": llvm rejects " + ours.text);
    } else if (ours.text != llvm[i]->text || ours.inst.len != llvm[i]->words) {
      complaints.push_back(fmt::format("{}: {} words {}, llvm {} words {}", show(encodings[i]),
                                       ours.inst.len, ours.text, llvm[i]->words, llvm[i]->text));
    }
  }
  report(complaints);
}

// LLVM prints some encodings with ignored or reserved bits set; assembling the text then gives
// other bytes, and we may reject them. What assembles to the same bytes we must know.
TEST_P(DecodeOracle, WhatLlvmAssemblesIsDecoded) {
  const std::vector<Encoding> encodings = random_encodings(24, 2);
  const auto llvm = llvm_disassemble(arch(), encodings);
  std::vector<Encoding> refused;
  std::vector<std::string> texts;
  for (size_t i = 0; i < encodings.size(); ++i) {
    if (llvm[i] && !decode_ours(arch(), encodings[i]).known) {
      refused.push_back(encodings[i]);
      texts.push_back(llvm[i]->text);
      if (llvm[i]->words == 1) {
        refused.back()[1] = 0;
      }
    }
  }
  const auto assembled = llvm_assemble(arch(), texts);
  std::vector<std::string> complaints;
  for (size_t i = 0; i < refused.size(); ++i) {
    if (assembled[i] == refused[i] && !has_no_meaning(texts[i])) {
      complaints.push_back(show(refused[i]) + ": " + texts[i]);
    }
  }
  report(complaints);
}

// Our text, assembled, decodes to the same text. LLVM does not assemble all it prints (operand
// alignment, too many scalar operands), but each opcode must pass at least once.
TEST_P(DecodeOracle, AssemblingTheTextGivesTheInstructionBack) {
  std::vector<std::string> texts;
  std::vector<const OpInfo*> ops;
  for (const Encoding& encoding : random_encodings(120, 3)) {
    Decoded ours = decode_ours(arch(), encoding);
    if (ours.known) {
      texts.push_back(ours.text);
      ops.push_back(ours.inst.op);
    }
  }
  const auto assembled = llvm_assemble(arch(), texts);
  std::map<const OpInfo*, int> passed;
  std::vector<std::string> complaints;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!assembled[i]) {
      continue;
    }
    const Decoded again = decode_ours(arch(), *assembled[i]);
    // Several lane patterns mean the same, and LLVM has its favourite spelling for them.
    if (again.text == texts[i] || ops[i]->has(trait::swizzle)) {
      ++passed[ops[i]];
    } else {
      complaints.push_back(fmt::format("{} became {}", texts[i], again.text));
    }
  }
  for (const OpInfo& op : all_ops()) {
    if (op.format == format() && op.on(arch()) && !passed.contains(&op)) {
      complaints.push_back(fmt::format("{} never came back", op.name));
    }
  }
  report(complaints);
}

// Opcodes LLVM knows and we leave out on purpose: graphics, and one that its tables list for gfx6.
bool left_out(const std::string& text, Format format, u32 opcode) {
  return text.starts_with("v_interp_") || (format == Format::mubuf && opcode == 0x71);
}

TEST_P(DecodeOracle, EveryOpcodeLlvmKnowsIsInTheTables) {
  constexpr int kTries = 150;
  RandomEncoding random(4);
  std::vector<Encoding> encodings;
  for (u32 opcode = 0; opcode < opcode_count(format()); ++opcode) {
    for (int i = 0; i < kTries && find_op(arch(), format(), opcode) == nullptr; ++i) {
      encodings.push_back(i % 4 == 0 ? random.make_without_operands(format(), opcode)
                                     : random.make(format(), opcode));
    }
  }
  const auto llvm = llvm_disassemble(arch(), encodings);
  std::vector<std::string> complaints;
  size_t at = 0;
  for (u32 opcode = 0; opcode < opcode_count(format()); ++opcode) {
    for (int i = 0; i < kTries && find_op(arch(), format(), opcode) == nullptr; ++i, ++at) {
      if (llvm[at] && !left_out(llvm[at]->text, format(), opcode)) {
        complaints.push_back(fmt::format("{:#x}: {}", opcode, llvm[at]->text));
      }
    }
  }
  report(complaints);
}

INSTANTIATE_TEST_SUITE_P(Gfx9, DecodeOracle,
                         testing::Combine(testing::Values(Arch::gfx906, Arch::gfx90a),
                                          testing::Range(0, static_cast<int>(std::size(kFormats)))),
                         [](const testing::TestParamInfo<std::tuple<Arch, int>>& info) {
                           return fmt::format(
                               "{}_{}",
                               std::get<0>(info.param) == Arch::gfx906 ? "gfx906" : "gfx90a",
                               kFormatNames[std::get<1>(info.param)]);
                         });

}  // namespace
}  // namespace vgpu::isa::test
