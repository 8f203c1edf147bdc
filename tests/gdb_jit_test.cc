// What debuggers are told of kernels: the list and its ELF objects parsed back, and gdb itself
// where it is installed.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "profiling/elf_object.h"
#include "support/child.h"
#include "support/profiled_child.h"
#include "support/runtimes.h"

// gdb's side of the interface.
extern "C" {
struct GdbEntry {
  GdbEntry* next;
  GdbEntry* previous;
  const char* object;
  uint64_t size;
};
struct GdbDescriptor {
  uint32_t version;
  uint32_t action;
  GdbEntry* relevant;
  GdbEntry* first;
};
extern GdbDescriptor descriptor_in_gdbs_words __asm__("__jit_debug_descriptor");
}

namespace sparsejit::test {
namespace {

class GdbJit : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!detect_machine().avx2_fma) GTEST_SKIP() << "this machine has no AVX2 and FMA";
    if (!children_supported()) GTEST_SKIP() << "no threads in forked children here";
  }
};

std::map<std::string, Elf64_Shdr> read_sections(const char* object) {
  Elf64_Ehdr header;
  std::memcpy(&header, object, sizeof(header));
  EXPECT_EQ(std::memcmp(header.e_ident, ELFMAG, SELFMAG), 0);
  EXPECT_EQ(header.e_machine, EM_X86_64);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), object + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  const char* names = object + sections[header.e_shstrndx].sh_offset;
  std::map<std::string, Elf64_Shdr> by_name;
  for (const Elf64_Shdr& section : sections) by_name[names + section.sh_name] = section;
  return by_name;
}

// Functions of an object, at the addresses a debugger gives them.
std::vector<Symbol> read_object(const char* object) {
  std::map<std::string, Elf64_Shdr> by_name = read_sections(object);
  const Elf64_Shdr& table = by_name[".symtab"];
  const char* strings = object + by_name[".strtab"].sh_offset;
  std::vector<Symbol> symbols;
  for (uint64_t at = sizeof(Elf64_Sym); at < table.sh_size; at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, object + table.sh_offset + at, sizeof(symbol));
    EXPECT_EQ(ELF64_ST_TYPE(symbol.st_info), STT_FUNC);
    EXPECT_LE(symbol.st_value + symbol.st_size, by_name[".text"].sh_size);
    symbols.push_back(
        {by_name[".text"].sh_addr + symbol.st_value, symbol.st_size, strings + symbol.st_name});
  }
  return symbols;
}

TEST(ElfObject, DescribesTheSymbols) {
  const auto* code = reinterpret_cast<const uint8_t*>(uintptr_t{0x7f0000001000});
  const std::vector<std::span<const uint8_t>> chunks = {{code, 100}, {code + 100, 156}};
  const CodeSymbols wanted = chunk_symbols(small_mask(), Pass::backward, KernelKind::fused, chunks);
  const std::string object = make_elf_object(wanted);
  const std::vector<Symbol> symbols = read_object(object.data());
  ASSERT_EQ(symbols.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(symbols[i].begin, reinterpret_cast<uint64_t>(wanted[i].begin));
    EXPECT_EQ(symbols[i].size, static_cast<uint64_t>(wanted[i].size));
    EXPECT_EQ(symbols[i].name, wanted[i].name);
  }
}

// gdb guesses well for functions without a stack, so its backtrace alone would not show a mistake.
TEST(ElfObject, CallFrameInformationCoversTheKernel) {
  const auto* code = reinterpret_cast<const uint8_t*>(uintptr_t{0x7f0000001000});
  const std::vector<std::span<const uint8_t>> chunks = {{code, 100}, {code + 100, 156}};
  const std::string object =
      make_elf_object(chunk_symbols(small_mask(), Pass::forward, KernelKind::products, chunks));
  const Elf64_Shdr section = read_sections(object.data())[".eh_frame"];
  const std::string frames = object.substr(section.sh_offset, section.sh_size);
  const auto field = [&](size_t at, auto value) {
    std::memcpy(&value, &frames[at], sizeof(value));
    return value;
  };
  ASSERT_EQ(frames.size(), 60U) << "what is common, one function, the end";
  EXPECT_EQ(field(0, uint32_t{}), 20U);
  EXPECT_EQ(field(4, uint32_t{}), 0U) << "what is common";
  EXPECT_EQ(frames.substr(13, 5), "\x0C\x07\x08\x90\x01") << "cfa = rsp + 8, rip at cfa - 8";
  EXPECT_EQ(field(24, uint32_t{}), 28U);
  EXPECT_EQ(field(28, uint32_t{}), 28U) << "back to what is common";
  EXPECT_EQ(field(32, uint64_t{}), reinterpret_cast<uint64_t>(code));
  EXPECT_EQ(field(40, uint64_t{}), 256U);
  EXPECT_EQ(field(56, uint32_t{}), 0U) << "the end";
}

TEST_F(GdbJit, WithoutTheVariableThereIsNoList) {
  expect_in_child([] {
    unsetenv("SPARSEJIT_PROFILE");
    Runtime runtime(with_threads(1));
    run_once(compiled_layer(small_mask(), runtime));
    return descriptor_in_gdbs_words.first == nullptr;
  });
}

TEST_F(GdbJit, DebuggersSeeTheKernelsThatExist) {
  expect_in_profiled_child("gdb", [] {
    {
      Runtime runtime(with_threads(1));
      const Layer layer = compiled_layer(small_mask(), runtime);
      const Layer other = compiled_layer(Mask::random({20, 30}, 0.5, 2), runtime);
      std::vector<Symbol> symbols;
      int64_t kernels = 0;
      const GdbEntry* previous = nullptr;
      for (const GdbEntry* entry = descriptor_in_gdbs_words.first; entry; entry = entry->next) {
        EXPECT_EQ(entry->previous, previous);
        previous = entry;
        ++kernels;
        for (const Symbol& symbol : read_object(entry->object)) symbols.push_back(symbol);
      }
      EXPECT_EQ(kernels, runtime.stats().kernels);
      expect_names(symbols, small_mask());
      expect_no_overlap(symbols);
    }
    EXPECT_EQ(descriptor_in_gdbs_words.first, nullptr) << "freed kernels are taken off the list";
  });
}

// What the next test debugs.
TEST_F(GdbJit, DISABLED_RunsAKernel) {
  Runtime runtime(with_threads(1));
  run_once(compiled_layer(small_mask(), runtime));
}

TEST_F(GdbJit, GdbShowsTheCallerOfAKernel) {
  if (std::system("gdb --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "gdb is not installed";
  const std::string symbol =
      "sparsejit_20x30_forward_accumulate_chunk0_" + short_name(small_mask().hash());
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command =
      "SPARSEJIT_PROFILE=gdb gdb -nx -batch -ex 'set confirm off' -ex 'set breakpoint pending on'"
      " -ex 'set debuginfod enabled off' -ex 'break " +
      symbol +
      "' -ex run"
      " -ex 'stepi 3' -ex backtrace -ex kill --args " +
      self + " --gtest_also_run_disabled_tests --gtest_filter=GdbJit.DISABLED_RunsAKernel 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string output;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) output += static_cast<char>(c);
  pclose(pipe);
  if (output.find("ptrace") != std::string::npos) GTEST_SKIP() << "no process may be traced here";
  const size_t kernel = output.find(" in " + symbol);
  ASSERT_NE(kernel, std::string::npos) << output;
  EXPECT_NE(output.find("NativeKernel::run", kernel), std::string::npos) << output;
  EXPECT_NE(output.find(" main ", kernel), std::string::npos) << output;
}

}  // namespace
}  // namespace sparsejit::test
