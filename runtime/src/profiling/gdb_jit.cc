// See gdb_jit.h.
#include "profiling/gdb_jit.h"

#include "profiling/elf_object.h"

// Names and layout are gdb's. NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {

struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};

struct jit_descriptor {
  uint32_t version;
  uint32_t action_flag;
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};

// Empty, but neither removed nor inlined: debuggers stop here.
__attribute__((noinline, weak, used)) void __jit_debug_register_code() {
  asm volatile("" ::: "memory");
}
__attribute__((weak, used)) jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)

namespace sparsejit {
namespace {

enum Action : uint32_t { kNothing, kRegister, kUnregister };

void announce(jit_code_entry* entry, Action action) {
  __jit_debug_descriptor.relevant_entry = entry;
  __jit_debug_descriptor.action_flag = action;
  __jit_debug_register_code();
  __jit_debug_descriptor.relevant_entry = nullptr;
  __jit_debug_descriptor.action_flag = kNothing;
}

}  // namespace

struct GdbJit::Registration {
  explicit Registration(const CodeSymbols& symbols) : object(make_elf_object(symbols)) {
    entry.symfile_addr = object.data();
    entry.symfile_size = object.size();
    entry.next_entry = __jit_debug_descriptor.first_entry;
    if (entry.next_entry != nullptr) entry.next_entry->prev_entry = &entry;
    __jit_debug_descriptor.first_entry = &entry;
    announce(&entry, kRegister);
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration() {
    if (entry.next_entry != nullptr) entry.next_entry->prev_entry = entry.prev_entry;
    if (entry.prev_entry != nullptr) {
      entry.prev_entry->next_entry = entry.next_entry;
    } else {
      __jit_debug_descriptor.first_entry = entry.next_entry;
    }
    announce(&entry, kUnregister);
  }

  std::string object;
  jit_code_entry entry{};
};

GdbJit::GdbJit() = default;
GdbJit::~GdbJit() = default;

void GdbJit::add(const CodeSymbols& symbols) {
  registered_[symbols.front().begin] = std::make_unique<Registration>(symbols);
}

void GdbJit::remove(const CodeSymbols& symbols) { registered_.erase(symbols.front().begin); }

}  // namespace sparsejit
