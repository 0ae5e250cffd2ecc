#include "isa/llvm_mc_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "support/temporary_directory.h"

namespace vgpu::isa::test {
namespace {

constexpr const char* kLlvmMc = "/usr/bin/llvm-mc-15";

struct Output {
  std::vector<std::string> lines;  // what llvm-mc printed
  std::set<size_t> rejected;       // input lines it complained about, from 1
};

// llvm-mc fails when any line is rejected; the exit code says nothing.
Output run_llvm_mc(Arch arch, const char* mode, const std::string& input) {
  const gp::TemporaryDirectory directory;
  std::ofstream(directory.file("in")) << input;
  const std::string command =
      fmt::format("{} {} --triple=amdgcn-amd-amdhsa -mcpu={} --show-encoding {} >{} 2>{}", kLlvmMc,
                  mode, arch == Arch::gfx906 ? "gfx906" : "gfx90a", directory.file("in"),
                  directory.file("out"), directory.file("err"));
  (void)std::system(command.c_str());

  Output output;
  std::string line;
  for (std::ifstream out(directory.file("out")); std::getline(out, line);) {
    if (line.find("; encoding: [") != std::string::npos) {
      output.lines.push_back(line);
    }
  }
  const std::string prefix = directory.file("in") + ":";
  for (std::ifstream err(directory.file("err")); std::getline(err, line);) {
    if (line.starts_with(prefix)) {
      output.rejected.insert(std::stoul(line.substr(prefix.size())));
    }
  }
  return output;
}

// "\tv_nop    ; encoding: [...]" without the encoding.
std::string instruction_text(const std::string& line) {
  std::string text = line.substr(0, line.find("; encoding: ["));
  text.erase(0, text.find_first_not_of(" \t"));
  text.erase(text.find_last_not_of(" \t") + 1);
  return text;
}

std::string byte_list(u32 word) {
  return fmt::format("0x{:02x} 0x{:02x} 0x{:02x} 0x{:02x}", word & 0xff, word >> 8 & 0xff,
                     word >> 16 & 0xff, word >> 24);
}

}  // namespace

bool have_llvm_mc() { return access(kLlvmMc, X_OK) == 0; }

// Brackets make a unit: after an error LLVM goes on behind it. A marker after each unit tells
// where its instructions end. What fills the second word of a short instruction is printed or
// complained about as another one; if neither happens, the instruction took both words.
std::vector<std::optional<LlvmText>> llvm_disassemble(Arch arch,
                                                      const std::vector<Encoding>& encodings) {
  constexpr u32 kMarker = 0xbf801234;
  constexpr const char* kMarkerText = "s_nop 0x1234";
  std::string input;
  for (const Encoding& encoding : encodings) {
    input += fmt::format("[{} {}]\n[{}]\n", byte_list(encoding[0]), byte_list(encoding[1]),
                         byte_list(kMarker));
  }
  const Output output = run_llvm_mc(arch, "--disassemble", input);

  std::vector<std::optional<LlvmText>> result;
  std::vector<std::string> unit;
  for (const std::string& line : output.lines) {
    std::string text = instruction_text(line);
    if (text != kMarkerText) {
      unit.push_back(std::move(text));
      continue;
    }
    const bool complaint = output.rejected.contains(2 * result.size() + 1);
    if (unit.empty()) {
      result.emplace_back();
    } else {
      result.push_back(LlvmText{unit.front(), unit.size() == 1 && !complaint ? 2 : 1});
    }
    unit.clear();
  }
  if (result.size() != encodings.size()) {
    ADD_FAILURE() << "llvm-mc ended early, after " << result.size() << " of " << encodings.size()
                  << " encodings";
    result.resize(encodings.size());
  }
  return result;
}

std::vector<std::optional<Encoding>> llvm_assemble(Arch arch,
                                                   const std::vector<std::string>& lines) {
  std::string input;
  for (const std::string& line : lines) {
    input += line + "\n";
  }
  const Output output = run_llvm_mc(arch, "", input);
  std::vector<std::optional<Encoding>> result;
  size_t printed = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (output.rejected.contains(i + 1) || printed == output.lines.size()) {
      result.emplace_back();
      continue;
    }
    const std::string& line = output.lines[printed++];
    Encoding encoding = {};
    int byte = 0;
    for (auto at = line.find("0x", line.find("encoding: [")); at != std::string::npos && byte < 8;
         at = line.find("0x", at + 2), ++byte) {
      encoding[byte / 4] |= static_cast<u32>(std::stoul(line.substr(at, 4), nullptr, 16))
                            << 8 * (byte % 4);
    }
    result.push_back(encoding);
  }
  return result;
}

}  // namespace vgpu::isa::test
