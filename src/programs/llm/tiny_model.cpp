// gpreempt-tiny-model: writes a language model of random weights that llama.cpp can run. For the
// demo, which has one made if it is given none, and for scripts:
//
//   gpreempt-tiny-model tiny.gguf && llama-completion --model tiny.gguf --prompt hello -n 16
#include "llm/tiny_model.h"

#include <cstdio>
#include <string>
#include <vector>

#include "base/exit_code.h"
#include "base/files.h"
#include "base/units.h"

namespace {

constexpr char kUsage[] =
    "usage: gpreempt-tiny-model FILE [WIDTH [LAYERS [SEED]]]\n"
    "\n"
    "Writes a model of random weights (GGUF, llama, F16) to FILE.\n"
    "  WIDTH    of a token's vector: 64 (default), 128, ... 8192\n"
    "  LAYERS   default: 1\n"
    "  SEED     default: 1; the same seed gives the same file everywhere\n";

gp::Status write(const std::vector<std::string>& words) {
  constexpr gp::u64 kMost = 0xffff'ffff;
  gp::llm::TinyModel model;
  gp::u32* const numbers[] = {&model.width, &model.layers, &model.seed};
  for (std::size_t i = 1; i < words.size(); ++i) {
    *numbers[i - 1] = static_cast<gp::u32>(TRY(gp::parse_number(words[i], 0, kMost)));
  }
  return gp::write_file(words[0], TRY(gp::llm::gguf_of(model)));
}

}  // namespace

int main(int count, char** arguments) {
  constexpr std::size_t kMostWords = 4;
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() == 1 && words[0] == "--help") {
    std::fputs(kUsage, stdout);
    return gp::exit_ok;
  }
  if (words.empty() || words.size() > kMostWords || words[0].starts_with('-')) {
    std::fputs(kUsage, stderr);
    return gp::exit_usage;
  }
  const gp::Status written = write(words);
  return written ? gp::exit_ok : gp::report_error(written.error());
}
