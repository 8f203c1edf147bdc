// SPARSEJIT_PROFILE: the files and lists that profilers and debuggers read, parsed back. Each case
// runs in a child process, which has files of its own.
#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kernel_cache.h"
#include "profiling/code_listing.h"
#include "profiling/elf_object.h"
#include "profiling/gdb_jit.h"
#include "support/child.h"
#include "support/layer_case.h"
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

struct Symbol {
  uint64_t begin = 0;
  uint64_t size = 0;
  std::string name;
};

const Mask& small_mask() {
  static const Mask mask = Mask::random({20, 30}, 0.5, 1);
  return mask;
}

Layer compiled_layer(const Mask& mask, Runtime& runtime) {
  LayerOptions options;
  options.engine = Engine::native;
  options.batch = 16;
  options.runtime = &runtime;
  return compile_layer(mask, options);
}

void run_once(const Layer& layer) {
  LayerCase layer_case = {.mask = layer.mask(), .batch = 16};
  layer_case.arrange(Arrangement::feature_major_padded);
  expect_matches_reference(layer_case, run_layer(layer, layer_case));
}

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string perf_map_path() { return "/tmp/perf-" + std::to_string(getpid()) + ".map"; }

std::vector<Symbol> read_perf_map() {
  static const std::regex kLine("([0-9a-f]+) ([0-9a-f]+) ([^ ]+)");
  std::vector<Symbol> symbols;
  std::istringstream lines(read_all(perf_map_path()));
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    EXPECT_TRUE(std::regex_match(line, match, kLine)) << line;
    symbols.push_back(
        {std::stoull(match[1], nullptr, 16), std::stoull(match[2], nullptr, 16), match[3]});
  }
  return symbols;
}

void expect_no_overlap(const std::vector<Symbol>& symbols) {
  std::map<uint64_t, uint64_t> ranges;
  for (const Symbol& symbol : symbols) {
    EXPECT_GT(symbol.size, 0U) << symbol.name;
    EXPECT_TRUE(ranges.emplace(symbol.begin, symbol.size).second) << symbol.name;
  }
  uint64_t end = 0;
  for (const auto& [begin, size] : ranges) {
    EXPECT_GE(begin, end);
    end = begin + size;
  }
}

// Names say what they should, and those of `mask` are there for both passes, chunks from 0 on.
void expect_names(const std::vector<Symbol>& symbols, const Mask& mask) {
  const std::regex pattern(
      "sparsejit_([0-9x]+)_(forward_accumulate|backward_(accumulate|fused|products))"
      "_chunk([0-9]+)_([0-9a-f]{16})");
  std::set<std::string> first_chunks;
  for (const Symbol& symbol : symbols) {
    std::smatch match;
    ASSERT_TRUE(std::regex_match(symbol.name, match, pattern)) << symbol.name;
    if (match[5] != short_name(mask.hash())) continue;
    EXPECT_EQ(match[1], to_text(mask.shape()));
    if (match[4] == "0") first_chunks.insert(match[2]);
  }
  EXPECT_TRUE(first_chunks.contains("forward_accumulate"));
  EXPECT_GE(first_chunks.size(), 2U) << "a backward pass too";
}

class Profiling : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!detect_machine().avx2_fma) GTEST_SKIP() << "this machine has no AVX2 and FMA";
    if (!children_supported()) GTEST_SKIP() << "no threads in forked children here";
  }
};

// `body` in a child with SPARSEJIT_PROFILE set and a directory of its own, both gone afterwards.
void expect_in_profiled_child(const char* words, const std::function<void()>& body) {
  expect_in_child([&] {
    std::string directory = ::testing::TempDir() + "profilingXXXXXX";
    EXPECT_NE(mkdtemp(directory.data()), nullptr);
    setenv("SPARSEJIT_PROFILE", words, 1);
    setenv("JITDUMPDIR", directory.c_str(), 1);
    body();
    std::filesystem::remove_all(directory);
    std::filesystem::remove(perf_map_path());
    return true;
  });
}

std::string jitdump_path() {
  return std::string(std::getenv("JITDUMPDIR")) + "/jit-" + std::to_string(getpid()) + ".dump";
}

TEST_F(Profiling, PerfMapNamesEveryChunkOnce) {
  expect_in_profiled_child("perfmap", [] {
    Runtime runtime(with_threads(1));
    const Layer layer = compiled_layer(small_mask(), runtime);
    run_once(layer);
    EXPECT_EQ(runtime.stats().arenas, 0) << "perf looks names up for anonymous memory only";
    const std::vector<Symbol> symbols = read_perf_map();
    expect_names(symbols, small_mask());
    expect_no_overlap(symbols);
    uint64_t bytes = 0;
    for (const Symbol& symbol : symbols) bytes += symbol.size;
    int64_t code_bytes = 0;
    for (const KernelReport& report : layer.report()) code_bytes += report.code_bytes;
    EXPECT_EQ(static_cast<int64_t>(bytes), code_bytes);
  });
}

TEST_F(Profiling, PerfMapLinesDoNotOverlapWhenAddressesAreReused) {
  expect_in_profiled_child("perfmap", [] {
    Runtime runtime(with_code_budget(48 << 10));
    for (uint64_t seed = 0; seed < 40; ++seed) {
      const Mask mask = Mask::random({20 + static_cast<int64_t>(seed % 7), 30}, 0.5, seed);
      const Layer layer = compiled_layer(mask, runtime);
      const std::vector<Symbol> symbols = read_perf_map();
      expect_no_overlap(symbols);
      expect_names(symbols, mask);
    }
    EXPECT_GT(runtime.stats().evictions, 0);
  });
}

TEST_F(Profiling, PerfMapOfAForkedChildHasTheInheritedKernelsToo) {
  expect_in_profiled_child("perfmap", [] {
    Runtime runtime(with_threads(1));
    const Layer layer = compiled_layer(small_mask(), runtime);
    const std::string parents = read_all(perf_map_path());
    expect_in_child([&] {
      const Mask other = Mask::random({20, 30}, 0.5, 2);
      const Layer own = compiled_layer(other, runtime);
      const std::vector<Symbol> symbols = read_perf_map();
      expect_names(symbols, small_mask());
      expect_names(symbols, other);
      expect_no_overlap(symbols);
      std::filesystem::remove(perf_map_path());
      return true;
    });
    EXPECT_EQ(read_all(perf_map_path()), parents);
  });
}

// Little-endian fields of a file, in order.
class Fields {
 public:
  explicit Fields(const std::string& bytes) : bytes_(bytes) {}
  template <typename T>
  T next() {
    T value{};
    EXPECT_LE(at_ + sizeof(T), bytes_.size());
    if (at_ + sizeof(T) <= bytes_.size()) std::memcpy(&value, &bytes_[at_], sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::string text(size_t size) {
    at_ += size;
    EXPECT_LE(at_, bytes_.size());
    return bytes_.substr(std::min(at_ - size, bytes_.size()), size);
  }
  size_t at() const { return at_; }
  bool done() const { return at_ >= bytes_.size(); }

 private:
  const std::string& bytes_;
  size_t at_ = 0;
};

void expect_jitdump_header(Fields& fields) {
  EXPECT_EQ(fields.next<uint32_t>(), 0x4A695444U);
  EXPECT_EQ(fields.next<uint32_t>(), 1U) << "version";
  EXPECT_EQ(fields.next<uint32_t>(), 40U) << "header size";
  EXPECT_EQ(fields.next<uint32_t>(), uint32_t{EM_X86_64});
  EXPECT_EQ(fields.next<uint32_t>(), 0U) << "padding";
  EXPECT_EQ(fields.next<uint32_t>(), static_cast<uint32_t>(getpid()));
  EXPECT_GT(fields.next<uint64_t>(), 0U) << "timestamp";
  EXPECT_EQ(fields.next<uint64_t>(), 0U) << "flags";
}

// Each record's code is compared with what lies at its address.
std::vector<Symbol> read_jitdump() {
  const std::string bytes = read_all(jitdump_path());
  Fields fields(bytes);
  expect_jitdump_header(fields);
  std::vector<Symbol> symbols;
  uint64_t last_time = 0;
  while (!fields.done() && !::testing::Test::HasFailure()) {
    const size_t start = fields.at();
    EXPECT_EQ(fields.next<uint32_t>(), 0U) << "JIT_CODE_LOAD";
    const auto total = fields.next<uint32_t>();
    const auto time = fields.next<uint64_t>();
    EXPECT_GE(time, last_time);
    last_time = time;
    EXPECT_EQ(fields.next<uint32_t>(), static_cast<uint32_t>(getpid()));
    EXPECT_EQ(fields.next<uint32_t>(), static_cast<uint32_t>(gettid()));
    const auto vma = fields.next<uint64_t>();
    EXPECT_EQ(fields.next<uint64_t>(), vma);
    const auto size = fields.next<uint64_t>();
    EXPECT_EQ(fields.next<uint64_t>(), symbols.size()) << "index";
    const std::string name = &bytes[fields.at()];
    fields.text(name.size() + 1);
    const std::string code = fields.text(size);
    EXPECT_EQ(std::memcmp(code.data(), reinterpret_cast<const void*>(vma), size), 0) << name;
    EXPECT_EQ(fields.at() - start, total);
    symbols.push_back({vma, size, name});
  }
  return symbols;
}

TEST_F(Profiling, JitdumpHoldsCodeAndNames) {
  expect_in_profiled_child("jitdump", [] {
    Runtime runtime(with_threads(1));
    const Layer layer = compiled_layer(small_mask(), runtime);
    const std::vector<Symbol> symbols = read_jitdump();
    expect_names(symbols, small_mask());
    expect_no_overlap(symbols);
    EXPECT_EQ(count_mappings(jitdump_path()), 1) << "the marker perf looks for";
    EXPECT_FALSE(any_writable_executable_mapping());
    expect_in_child([&] {
      const Mask other = Mask::random({20, 30}, 0.5, 2);
      const Layer own = compiled_layer(other, runtime);
      expect_names(read_jitdump(), small_mask());
      expect_names(read_jitdump(), other);
      EXPECT_EQ(count_mappings("/jit-"), 1) << "its own marker only";
      return true;
    });
  });
}

TEST_F(Profiling, WithoutTheVariableNothingIsWritten) {
  expect_in_profiled_child("", [] {
    unsetenv("SPARSEJIT_PROFILE");
    Runtime runtime(with_threads(1));
    run_once(compiled_layer(small_mask(), runtime));
    EXPECT_FALSE(std::filesystem::exists(perf_map_path()));
    EXPECT_FALSE(std::filesystem::exists(jitdump_path()));
    EXPECT_EQ(descriptor_in_gdbs_words.first, nullptr);
  });
}

TEST_F(Profiling, UnknownWordsAndFilesThatCannotBeWrittenAreReportedOnce) {
  expect_in_profiled_child("perf,jitdump,,gdb", [] {
    setenv("JITDUMPDIR", "/nowhere/at/all", 1);
    std::vector<std::string> lines;
    RuntimeOptions options = with_threads(1);
    options.log = [&](const std::string& line) { lines.push_back(line); };
    Runtime runtime(options);
    run_once(compiled_layer(small_mask(), runtime));
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_NE(lines[0].find("'perf'"), std::string::npos) << lines[0];
    EXPECT_NE(lines[1].find("/nowhere/at/all/jit-"), std::string::npos) << lines[1];
    EXPECT_NE(descriptor_in_gdbs_words.first, nullptr) << "the words it knows count";
  });
}

TEST(ProfilersTest, ListsAreParsed) {
  std::vector<std::string> lines;
  const auto report = [&](const std::string& line) { lines.push_back(line); };
  EXPECT_FALSE(parse_profilers("", report).any());
  const Profilers all = parse_profilers("gdb,jitdump,perfmap", report);
  EXPECT_TRUE(all.gdb && all.jitdump && all.perf_map);
  const Profilers one = parse_profilers("perfmap,", report);
  EXPECT_TRUE(one.perf_map && !one.jitdump && !one.gdb);
  EXPECT_TRUE(lines.empty());
  EXPECT_FALSE(parse_profilers("Gdb, gdb", report).any());
  EXPECT_EQ(lines.size(), 2U);
}

// Functions of an object, at the addresses a debugger gives them.
std::vector<Symbol> read_object(const char* object) {
  Elf64_Ehdr header;
  std::memcpy(&header, object, sizeof(header));
  EXPECT_EQ(std::memcmp(header.e_ident, ELFMAG, SELFMAG), 0);
  EXPECT_EQ(header.e_machine, EM_X86_64);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), object + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  const char* names = object + sections[header.e_shstrndx].sh_offset;
  std::map<std::string, Elf64_Shdr> by_name;
  for (const Elf64_Shdr& section : sections) by_name[names + section.sh_name] = section;
  EXPECT_TRUE(by_name.contains(".eh_frame"));
  const Elf64_Shdr& table = by_name[".symtab"];
  const char* strings = object + sections[table.sh_link].sh_offset;
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

TEST(ProfilersTest, ElfObjectDescribesTheSymbols) {
  const auto* code = reinterpret_cast<const uint8_t*>(uintptr_t{0x7f0000001000});
  const std::vector<int64_t> chunk_begin = {0, 100, 256};
  const CodeSymbols wanted =
      chunk_symbols(small_mask(), Pass::backward, KernelKind::fused, code, chunk_begin);
  const std::string object = make_elf_object(wanted);
  const std::vector<Symbol> symbols = read_object(object.data());
  ASSERT_EQ(symbols.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(symbols[i].begin, reinterpret_cast<uint64_t>(wanted[i].begin));
    EXPECT_EQ(symbols[i].size, static_cast<uint64_t>(wanted[i].size));
    EXPECT_EQ(symbols[i].name, wanted[i].name);
  }
}

TEST_F(Profiling, DebuggersSeeTheKernelsThatExist) {
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
TEST_F(Profiling, DISABLED_RunsAKernel) {
  Runtime runtime(with_threads(1));
  run_once(compiled_layer(small_mask(), runtime));
}

TEST_F(Profiling, GdbShowsTheCallerOfAKernel) {
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
      self + " --gtest_also_run_disabled_tests --gtest_filter=Profiling.DISABLED_RunsAKernel 2>&1";
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
