#include "isa/exec_support.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "support/temporary_directory.h"

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

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The .text section of an ELF object.
std::vector<u32> text_of(const std::string& elf) {
  Elf64_Ehdr header;
  if (elf.size() < sizeof(header)) {
    return {};
  }
  std::memcpy(&header, elf.data(), sizeof(header));
  const auto section = [&](int i) {
    Elf64_Shdr found;
    std::memcpy(&found, &elf.at(header.e_shoff + i * sizeof(found)), sizeof(found));
    return found;
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  for (int i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr candidate = section(i);
    if (std::strcmp(&elf.at(names.sh_offset + candidate.sh_name), ".text") == 0) {
      std::vector<u32> words(candidate.sh_size / 4);
      std::memcpy(words.data(), &elf.at(candidate.sh_offset), words.size() * 4);
      return words;
    }
  }
  return {};
}

}  // namespace

bool have_assembler() { return assembler() != nullptr; }

namespace {

std::vector<u32> run_assembler(Arch arch, const std::string& text) {
  const gp::TemporaryDirectory temporary;
  const std::string& directory = temporary.path();
  const std::string source = directory + "/a.s";
  const std::string object = directory + "/a.o";
  const std::string errors = directory + "/errors";
  std::ofstream(source) << text;
  const std::string command = std::string(assembler()) + " -triple=amdgcn -mcpu=" +
                              (arch == Arch::gfx90a ? "gfx90a" : "gfx906") + " -filetype=obj -o " +
                              object + " " + source + " 2>" + errors;
  std::vector<u32> words;
  if (std::system(command.c_str()) == 0) {
    words = text_of(read_file(object));
  } else {
    ADD_FAILURE() << "llvm-mc rejects:\n" << read_file(errors);
  }
  return words;
}

}  // namespace

std::vector<u32> assemble(Arch arch, const std::string& text) {
  static std::map<std::pair<Arch, std::string>, std::vector<u32>> known;
  const auto [entry, is_new] = known.try_emplace({arch, text});
  if (is_new) {
    entry->second = run_assembler(arch, text);
  }
  return entry->second;
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
