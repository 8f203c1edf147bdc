// Zydis decodes and formats; notes are merged in by one walk, both being ascending by offset.
// Operands are decoded only where text is wanted. Nops lose their operands, which say nothing but
// how long the nop is.
#include "inspect/disassembly.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

struct Tools {
  ZydisDecoder decoder;
  ZydisFormatter formatter;
};

Tools make_tools() {
  Tools tools;
  const ZyanStatus decoder =
      ZydisDecoderInit(&tools.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  SPARSEJIT_CHECK(ZYAN_SUCCESS(decoder), ==, true);
  const ZyanStatus formatter = ZydisFormatterInit(&tools.formatter, ZYDIS_FORMATTER_STYLE_INTEL);
  SPARSEJIT_CHECK(ZYAN_SUCCESS(formatter), ==, true);
  const auto set = [&](ZydisFormatterProperty property, ZyanUPointer value) {
    ZydisFormatterSetProperty(&tools.formatter, property, value);
  };
  set(ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
  set(ZYDIS_FORMATTER_PROP_FORCE_SCALE_ONE, ZYAN_FALSE);
  set(ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED);
  set(ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED);
  set(ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_PADDING_DISABLED);
  return tools;
}

Instruction describe(const ZydisDecodedInstruction& decoded, int64_t at) {
  Instruction instruction;
  instruction.at = at;
  instruction.size = decoded.length;
  instruction.mnemonic = ZydisMnemonicGetString(decoded.mnemonic);
  if (!instruction.nop()) {
    instruction.displacement_bytes = decoded.raw.disp.size / 8;
    instruction.displacement = decoded.raw.disp.value;
  }
  const auto& immediate = decoded.raw.imm[0];
  if (immediate.size != 0 && immediate.is_relative == ZYAN_TRUE) {
    instruction.branch_target = instruction.end() + immediate.value.s;
  }
  return instruction;
}

Instruction describe_bad(int64_t at, uint8_t byte) {
  Instruction instruction;
  instruction.at = at;
  instruction.size = 1;
  instruction.mnemonic = kBadMnemonic;
  instruction.text = fmt::format("(bad) 0x{:02x}", byte);
  return instruction;
}

int vector_register(const ZydisDecodedOperand& operand) {
  if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) return -1;
  const ZydisRegisterClass kind = ZydisRegisterGetClass(operand.reg.value);
  const bool vector = kind == ZYDIS_REGCLASS_XMM || kind == ZYDIS_REGCLASS_YMM;
  return vector ? ZydisRegisterGetId(operand.reg.value) : -1;
}

std::string_view register_name(ZydisRegister reg) {
  const char* name = ZydisRegisterGetString(reg);
  return name == nullptr ? std::string_view() : name;
}

void describe_operand(const ZydisDecodedOperand& operand, size_t position,
                      Instruction& instruction) {
  if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
    if (operand.mem.type != ZYDIS_MEMOP_TYPE_AGEN) instruction.access_bytes = operand.size / 8;
    instruction.base = register_name(operand.mem.base);
    // The encoded one may be scaled (AVX-512).
    if (operand.mem.disp.has_displacement) instruction.displacement = operand.mem.disp.value;
  }
  if (position == 0 && operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
      ZydisRegisterGetClass(operand.reg.value) == ZYDIS_REGCLASS_GPR64) {
    instruction.pointer = register_name(operand.reg.value);
  }
  if (position < instruction.registers.size()) {
    instruction.registers[position] = vector_register(operand);
  }
}

void add_text(const Tools& tools, const ZydisDecoderContext& context,
              const ZydisDecodedInstruction& decoded, Instruction& instruction) {
  if (instruction.nop()) {
    instruction.text = "nop";
    return;
  }
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands{};
  const ZyanU8 count = decoded.operand_count_visible;
  const ZyanStatus operand_status =
      ZydisDecoderDecodeOperands(&tools.decoder, &context, &decoded, operands.data(), count);
  SPARSEJIT_CHECK(ZYAN_SUCCESS(operand_status), ==, true);
  for (size_t i = 0; i < count; ++i) describe_operand(operands[i], i, instruction);
  std::array<char, 256> buffer{};
  const ZyanStatus format_status = ZydisFormatterFormatInstruction(
      &tools.formatter, &decoded, operands.data(), count, buffer.data(), buffer.size(),
      static_cast<ZyanU64>(instruction.at), nullptr);
  SPARSEJIT_CHECK(ZYAN_SUCCESS(format_status), ==, true);
  instruction.text = buffer.data();
}

Instruction disassemble_one(const Tools& tools, const KernelCode& code, int64_t at, int64_t end,
                            InstructionText text) {
  const uint8_t* bytes = code.bytes.data() + at;
  ZydisDecoderContext context;
  ZydisDecodedInstruction decoded;
  const ZyanStatus status = ZydisDecoderDecodeInstruction(
      &tools.decoder, &context, bytes, static_cast<ZyanUSize>(end - at), &decoded);
  if (!ZYAN_SUCCESS(status)) return describe_bad(at, *bytes);
  Instruction instruction = describe(decoded, at);
  if (text == InstructionText::intel) add_text(tools, context, decoded, instruction);
  return instruction;
}

}  // namespace

ByteRange chunk_range(const KernelCode& code, int64_t chunk) {
  SPARSEJIT_CHECK(chunk + 1, <, static_cast<int64_t>(code.chunk_begin.size()));
  const auto index = static_cast<size_t>(chunk);
  return {code.chunk_begin[index], code.code_end[index]};
}

std::vector<TableWord> table_words(const KernelCode& code, int64_t chunk) {
  constexpr auto kPadding = static_cast<int32_t>(0xCCCCCCCC);
  constexpr int64_t kAlignment = 64;
  const auto index = static_cast<size_t>(chunk);
  const int64_t begin = (code.code_end[index] + kAlignment - 1) / kAlignment * kAlignment;
  auto note = std::lower_bound(code.notes.begin(), code.notes.end(), begin,
                               [](const CodeNote& n, int64_t at) { return n.at < at; });
  std::vector<TableWord> words;
  for (int64_t at = begin; at < code.chunk_begin[index + 1]; at += 4) {
    TableWord& word = words.emplace_back();
    word.at = at;
    std::memcpy(&word.word, &code.bytes[static_cast<size_t>(at)], sizeof(word.word));
    if (note != code.notes.end() && note->at == at) word.note = *note++;
  }
  while (!words.empty() && words.back().word == kPadding) words.pop_back();
  return words;
}

std::vector<Instruction> disassemble(const KernelCode& code, ByteRange range,
                                     InstructionText text) {
  SPARSEJIT_CHECK(range.end, <=, static_cast<int64_t>(code.bytes.size()));
  const Tools tools = make_tools();
  auto note = std::lower_bound(code.notes.begin(), code.notes.end(), range.begin,
                               [](const CodeNote& n, int64_t at) { return n.at < at; });
  std::vector<Instruction> instructions;
  for (int64_t at = range.begin; at < range.end; at = instructions.back().end()) {
    Instruction& instruction =
        instructions.emplace_back(disassemble_one(tools, code, at, range.end, text));
    while (note != code.notes.end() && note->at < instruction.end()) instruction.note = *note++;
  }
  return instructions;
}

}  // namespace sparsejit::frontend
