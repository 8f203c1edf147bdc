// See jitdump.h.
#include "profiling/jitdump.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace sparsejit {
namespace {

// Field by field as in the specification; all are naturally aligned.
struct FileHeader {
  uint32_t magic = 0x4A695444;  // "JiTD"
  uint32_t version = 1;
  uint32_t total_size = sizeof(FileHeader);
  uint32_t elf_machine = EM_X86_64;
  uint32_t padding = 0;
  uint32_t pid = 0;
  uint64_t timestamp = 0;
  uint64_t flags = 0;
};
static_assert(sizeof(FileHeader) == 40);

struct CodeLoad {
  uint32_t id = 0;          // JIT_CODE_LOAD
  uint32_t total_size = 0;  // with name and code
  uint64_t timestamp = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t vma = 0;
  uint64_t code_address = 0;
  uint64_t code_size = 0;
  uint64_t code_index = 0;
};
static_assert(sizeof(CodeLoad) == 56);

uint64_t nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000U + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

void JitDump::open() {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (marker_ != nullptr) munmap(marker_, page);
  marker_ = nullptr;
  pid_ = getpid();
  loads_ = 0;
  const char* directory = std::getenv("JITDUMPDIR");
  const bool given = directory != nullptr && *directory != '\0';
  file_.open(fmt::format("{}/jit-{}.dump", given ? directory : ".", pid_), O_TRUNC);
  write_header();
  if (file_.descriptor() < 0) return;
  void* marker = mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file_.descriptor(), 0);
  if (marker == MAP_FAILED) return file_.fail("mmap to execute, which perf looks for");
  marker_ = marker;
}

void JitDump::write_header() {
  FileHeader header;
  header.pid = static_cast<uint32_t>(pid_);
  header.timestamp = nanoseconds();
  file_.write(&header, sizeof(header));
}

void JitDump::write_load(const CodeSymbol& symbol) {
  const auto address = reinterpret_cast<uint64_t>(symbol.begin);
  const size_t name_size = symbol.name.size() + 1;
  const auto code_size = static_cast<uint64_t>(symbol.size);
  CodeLoad load;
  load.total_size = static_cast<uint32_t>(sizeof(load) + name_size + code_size);
  load.timestamp = nanoseconds();
  load.pid = static_cast<uint32_t>(pid_);
  load.tid = static_cast<uint32_t>(gettid());
  load.vma = address;
  load.code_address = address;
  load.code_size = code_size;
  load.code_index = loads_++;
  file_.write(&load, sizeof(load));
  file_.write(symbol.name.c_str(), name_size);
  file_.write(symbol.begin, code_size);
}

std::string JitDump::add(const CodeSymbols& symbols) {
  if (pid_ != getpid()) {
    open();
    for (const auto& [begin, kernel] : live_) {
      for (const CodeSymbol& symbol : kernel) write_load(symbol);
    }
  }
  for (const CodeSymbol& symbol : symbols) write_load(symbol);
  live_[symbols.front().begin] = symbols;
  return file_.problem();
}

void JitDump::remove(const CodeSymbols& symbols) { live_.erase(symbols.front().begin); }

}  // namespace sparsejit
