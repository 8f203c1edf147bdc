// See elf_object.h.
#include "profiling/elf_object.h"

#include <elf.h>

#include <array>
#include <cstring>

namespace sparsejit {
namespace {

using Bytes = std::string;

enum Section : uint16_t { kNull, kText, kEhFrame, kSymbols, kStrings, kSectionNames, kSections };

// Offset of what was added.
uint64_t append(Bytes& bytes, const void* data, size_t size) {
  const uint64_t at = bytes.size();
  bytes.append(static_cast<const char*>(data), size);
  return at;
}

uint64_t append(Bytes& bytes, const Bytes& more) { return append(bytes, more.data(), more.size()); }

// Call frame information by the DWARF standard, for the machine's registers 7 (rsp) and 16 (the
// return address). The length of each entry makes the next one start at a multiple of 8.
Bytes eh_frame(const CodeSymbols& symbols) {
  constexpr std::array<uint8_t, 24> kCommon = {
      20,        0,    0, 0,         // length of what follows
      0,         0,    0, 0,         // this is a CIE
      1,         0,                  // version, no augmentation: addresses are absolute, 8 bytes
      1,         0x78,               // code alignment 1, data alignment -8
      16,                            // the return address is in column 16
      0x0C,      7,    8,            // DW_CFA_def_cfa: rsp + 8
      0x80 | 16, 1,                  // DW_CFA_offset: column 16 is at cfa - 8
      0,         0,    0, 0, 0, 0};  // DW_CFA_nop
  struct Frame {
    uint32_t length = 28;
    uint32_t back_to_common = 28;  // from this field
    uint64_t begin = 0;
    uint64_t size = 0;
    std::array<uint8_t, 8> nops{};
  };
  static_assert(sizeof(Frame) == 32);
  Frame frame;
  frame.begin = reinterpret_cast<uint64_t>(symbols.front().begin);
  frame.size = static_cast<uint64_t>(code_size(symbols));
  Bytes bytes;
  append(bytes, kCommon.data(), kCommon.size());
  append(bytes, &frame, sizeof(frame));
  const uint32_t end = 0;
  append(bytes, &end, sizeof(end));
  return bytes;
}

struct SymbolTable {
  Bytes symbols;
  Bytes strings = Bytes(1, 0);
};

SymbolTable symbol_table(const CodeSymbols& symbols) {
  SymbolTable table;
  const Elf64_Sym none{};
  append(table.symbols, &none, sizeof(none));
  for (const CodeSymbol& symbol : symbols) {
    Elf64_Sym entry{};
    entry.st_name =
        static_cast<uint32_t>(append(table.strings, symbol.name.c_str(), symbol.name.size() + 1));
    entry.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    entry.st_shndx = kText;
    entry.st_value = static_cast<uint64_t>(symbol.begin - symbols.front().begin);
    entry.st_size = static_cast<uint64_t>(symbol.size);
    append(table.symbols, &entry, sizeof(entry));
  }
  return table;
}

Elf64_Ehdr file_header() {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_shoff = sizeof(Elf64_Ehdr);
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = kSections;
  header.e_shstrndx = kSectionNames;
  return header;
}

// Names and properties; where their bytes lie is filled in later.
std::array<Elf64_Shdr, kSections> section_headers(const CodeSymbols& symbols, Bytes& names) {
  std::array<Elf64_Shdr, kSections> headers{};
  const auto set = [&](Section section, const char* name, uint32_t type, uint64_t align) {
    headers[section].sh_name = static_cast<uint32_t>(append(names, name, std::strlen(name) + 1));
    headers[section].sh_type = type;
    headers[section].sh_addralign = align;
  };
  set(kText, ".text", SHT_NOBITS, 16);
  set(kEhFrame, ".eh_frame", SHT_PROGBITS, 8);
  set(kSymbols, ".symtab", SHT_SYMTAB, 8);
  set(kStrings, ".strtab", SHT_STRTAB, 1);
  set(kSectionNames, ".shstrtab", SHT_STRTAB, 1);
  headers[kText].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  headers[kText].sh_addr = reinterpret_cast<uint64_t>(symbols.front().begin);
  headers[kText].sh_size = static_cast<uint64_t>(code_size(symbols));
  headers[kEhFrame].sh_flags = SHF_ALLOC;
  headers[kSymbols].sh_link = kStrings;
  headers[kSymbols].sh_info = 1;  // the first global symbol
  headers[kSymbols].sh_entsize = sizeof(Elf64_Sym);
  return headers;
}

}  // namespace

std::string make_elf_object(const CodeSymbols& symbols) {
  Bytes names(1, 0);
  std::array<Elf64_Shdr, kSections> headers = section_headers(symbols, names);
  const SymbolTable table = symbol_table(symbols);
  const Elf64_Ehdr header = file_header();
  Bytes file;
  append(file, &header, sizeof(header));
  file.resize(file.size() + sizeof(headers));
  const auto place = [&](Section section, const Bytes& bytes) {
    file.resize((file.size() + 7) / 8 * 8);
    headers[section].sh_offset = append(file, bytes);
    headers[section].sh_size = bytes.size();
  };
  place(kEhFrame, eh_frame(symbols));
  place(kSymbols, table.symbols);
  place(kStrings, table.strings);
  place(kSectionNames, names);
  std::memcpy(&file[sizeof(header)], headers.data(), sizeof(headers));
  return file;
}

}  // namespace sparsejit
