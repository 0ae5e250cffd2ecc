#include "isa/exec_support.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace vgpu::isa::test {
namespace {

const char* assembler() {
  static const char* found = [] {
    for (const char* path : {"/usr/bin/llvm-mc-15", "/usr/bin/llvm-mc-16", "/usr/bin/llvm-mc-19",
                             "/usr/bin/llvm-mc"}) {
      if (access(path, X_OK) == 0) {
        return path;
      }
    }
    return static_cast<const char*>(nullptr);
  }();
  return found;
}

// llvm-mc --show-encoding prints the bytes of each instruction as "encoding: [0x..,0x..]".
std::vector<u32> encoded_words(const std::string& line) {
  std::vector<u32> words;
  const auto start = line.find("encoding: [");
  if (start == std::string::npos) {
    return words;
  }
  std::vector<u8> bytes;
  for (auto at = line.find("0x", start); at != std::string::npos; at = line.find("0x", at + 2)) {
    bytes.push_back(static_cast<u8>(std::stoul(line.substr(at + 2, 2), nullptr, 16)));
  }
  for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    u32 word;
    std::memcpy(&word, &bytes[i], 4);
    words.push_back(word);
  }
  return words;
}

}  // namespace

bool have_assembler() { return assembler() != nullptr; }

std::vector<u32> assemble(Arch arch, const std::string& text) {
  char path[] = "/tmp/vgpu-asm-XXXXXX";
  const int file = mkstemp(path);
  if (file < 0 || write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    ADD_FAILURE() << "cannot write " << path;
  }
  close(file);
  const std::string command = std::string(assembler()) + " -triple=amdgcn -mcpu=" +
                              (arch == Arch::gfx90a ? "gfx90a" : "gfx906") + " -show-encoding " +
                              path + " 2>&1";
  std::vector<u32> words;
  FILE* pipe = popen(command.c_str(), "r");
  char line[512];
  std::string output;
  while (pipe && fgets(line, sizeof(line), pipe)) {
    output += line;
    for (u32 word : encoded_words(line)) {
      words.push_back(word);
    }
  }
  if (!pipe || pclose(pipe) != 0) {
    ADD_FAILURE() << "llvm-mc rejects:\n" << output;
  }
  unlink(path);
  return words;
}

HostPages::HostPages(u64 pages) : size_(pages * kPageSize) {
  void* map = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) {
    throw std::bad_alloc();
  }
  data_ = static_cast<u8*>(map);
}

HostPages::~HostPages() { munmap(data_, size_); }

ExecTest::ExecTest()
    : engine_(engine_named(GetParam())),
      code_(16),
      data_(kDataPages),
      registers_(2 * kVgprs * kLanes * 4 / kPageSize),
      lds_(kLdsSize / kPageSize) {
  memory.map(kCode, code_.size(), code_.data(), page_exec);
  memory.map(kData, data_.size(), data_.data(), page_write);
  wave.v = reinterpret_cast<u32*>(registers_.data());
  wave.acc = wave.v + kVgprs * kLanes;
  wave.nv = kVgprs;
  wave.nacc = kVgprs;
  wave.memory = &memory;
  wave.machine = &machine;
  wave.lds = lds_.data();
  wave.lds_size = kLdsSize;
  wave.set_exec(~u64{0});
}

void ExecTest::SetUp() {
  if (!engine_) {
    GTEST_SKIP() << "this CPU cannot run engine " << GetParam();
  }
  if (!have_assembler()) {
    GTEST_SKIP() << "llvm-mc is not installed";
  }
  use(Arch::gfx90a);
  randomize();
}

void ExecTest::use(Arch arch) {
  wave.arch = arch;
  cache_ = std::make_unique<CodeCache>(arch, *engine_, memory);
  wave.code = cache_.get();
}

void ExecTest::load(const std::string& text) {
  const std::vector<u32> words = assemble(wave.arch, text + "\ns_endpgm\n");
  ASSERT_LE(words.size() * 4, code_.size());
  std::memcpy(code_.data(), words.data(), words.size() * 4);
  cache_->invalidate();
  wave.pc = kCode;
  wave.ended = false;
}

Stop ExecTest::run(const std::string& text, u64 budget) {
  load(text);
  return resume(budget);
}

Stop ExecTest::resume(u64 budget) {
  engine_->run(wave, budget, attention);
  return wave.stop;
}

void ExecTest::randomize() {
  const auto fill = [&](u8* at, u64 size) {
    for (u64 i = 0; i < size; i += 8) {
      const u64 bits = random_();
      std::memcpy(at + i, &bits, 8);
    }
  };
  fill(registers_.data(), registers_.size());
  fill(lds_.data(), lds_.size());
  fill(data_.data(), data_.size());
  fill(reinterpret_cast<u8*>(wave.s), 102 * 4);
  wave.set_vcc(random_());
}

std::vector<u64> ExecTest::exec_masks() {
  return {~u64{0},
          1,
          u64{1} << 63,
          0x5555555555555555,
          0xffffffff00000000,
          random_(),
          random_() & random_(),
          0};
}

}  // namespace vgpu::isa::test
