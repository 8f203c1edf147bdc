// Plain data to JSON; see report_json.h. Byte offsets are numbers, code bytes hexadecimal text.
// Instructions with a note carry it as numbers (kind, row, tap, displacement), so that a script can
// check the annotation against the mask.
#include "inspect/report_json.h"

#include <fmt/format.h>

#include <span>

#include "inspect/annotation.h"
#include "inspect/histogram.h"
#include "inspect/report.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

using Json = nlohmann::ordered_json;

Json lines_json(const LineSummary& summary) {
  return {{"count", summary.lines},
          {"empty", summary.empty},
          {"longest", summary.longest},
          {"longest_taps", summary.longest_taps},
          {"mean_taps", summary.mean_taps}};
}

Json plan_json(const Plan& plan) {
  return {{"family", to_text(plan.family)},
          {"vectors", plan.vectors},
          {"taps_per_group", plan.taps_per_group},
          {"rows_per_group", plan.rows_per_group},
          {"packed_values", plan.packed_values},
          {"tail", plan.tail},
          {"panel", plan.panel},
          {"pitches",
           {{"gathered", plan.pitches.gathered},
            {"own", plan.pitches.own},
            {"paired", plan.pitches.paired}}},
          {"blocks", plan.blocks},
          {"block_streams", plan.block_streams},
          {"parts", plan.parts()},
          {"code_bytes_estimate", plan.code_bytes_estimate}};
}

Json chunks_json(const KernelInspection& kernel) {
  Json chunks = Json::array();
  for (int64_t i = 0; i < kernel.chunks(); ++i) {
    const Chunk& chunk = kernel.plan.chunks[static_cast<size_t>(i)];
    const ByteRange range = chunk_range(kernel.code, i);
    chunks.push_back({{"part", chunk.part},
                      {"block", chunk.block},
                      {"taps", chunk.taps},
                      {"begin", range.begin},
                      {"bytes", range.size()}});
  }
  return chunks;
}

Json counts_json(std::span<const InstructionCount> counts) {
  Json list = Json::array();
  for (const InstructionCount& count : counts) {
    list.push_back({{"name", count.name}, {"count", count.count}, {"bytes", count.bytes}});
  }
  return list;
}

Json instruction_json(const Instruction& instruction, const std::string& annotation,
                      const KernelCode& code) {
  std::string bytes;
  for (int64_t at = instruction.at; at < instruction.end(); ++at) {
    bytes += fmt::format("{:02x}", code.bytes[static_cast<size_t>(at)]);
  }
  Json json = {{"at", instruction.at}, {"bytes", bytes}, {"text", instruction.text}};
  if (instruction.note) {
    json["displacement"] = instruction.displacement;
    json["kind"] = to_text(instruction.note->kind);
    json["row"] = instruction.note->row;
    json["tap"] = instruction.note->tap;
  }
  if (!annotation.empty()) json["annotation"] = annotation;
  return json;
}

Json word_json(const TableWord& word, const KernelInspection& kernel) {
  Json json = {{"at", word.at}, {"word", word.word}};
  if (!word.note) return json;
  json["kind"] = to_text(word.note->kind);
  json["row"] = word.note->row;
  json["tap"] = word.note->tap;
  json["annotation"] = annotate(word, *kernel.layer, kernel.plan, kernel.side);
  return json;
}

Json listing_json(const KernelInspection& kernel, const Listing& listing) {
  Json json;
  if (listing.choice.row) json["row"] = *listing.choice.row;
  if (listing.choice.chunk) json["chunk"] = *listing.choice.chunk;
  json["taps"] = to_text(kernel.table(), listing.first_row, listing.rows);
  json["pieces"] = Json::array();
  for (const RowCode& piece : listing.pieces) {
    Json instructions = Json::array();
    const std::vector<Instruction> decoded = disassemble(kernel.code, piece.range);
    const std::vector<std::string> annotations =
        annotate(decoded, *kernel.layer, kernel.plan, kernel.side);
    for (size_t i = 0; i < decoded.size(); ++i) {
      instructions.push_back(instruction_json(decoded[i], annotations[i], kernel.code));
    }
    Json table = Json::array();
    for (const TableWord& word : find_table_words(kernel.code, piece.chunk, listing.choice.row)) {
      table.push_back(word_json(word, kernel));
    }
    json["pieces"].push_back({{"chunk", piece.chunk},
                              {"taps", piece.taps},
                              {"begin", piece.range.begin},
                              {"end", piece.range.end},
                              {"instructions", std::move(instructions)},
                              {"table", std::move(table)}});
  }
  return json;
}

Json kernel_json(const KernelInspection& kernel, const ListingChoice& choice) {
  const Histogram histogram = count_instructions(kernel.code);
  return {{"kind", to_text(kernel.plan.kind)},
          {"rows", kernel.side == Pass::forward ? "outputs" : "inputs"},
          {"plan", plan_json(kernel.plan)},
          {"emit_ms", 1e3 * kernel.emit_seconds},
          {"images_per_slab", kernel.images_per_slab},
          {"code_bytes", kernel.code.bytes.size()},
          {"chunks", chunks_json(kernel)},
          {"instructions", counts_json(histogram.mnemonics)},
          {"displacements", counts_json(histogram.displacements)},
          {"bad", histogram.bad},
          {"listing", listing_json(kernel, list_code(kernel, choice))}};
}

}  // namespace

Json mask_json(const InspectedLayer& layer) {
  const MaskShape& shape = layer.mask.shape();
  Json json = {{"rows", lines_json(summarize_rows(layer.forward))},
               {layer.conv ? "streams" : "columns", lines_json(summarize_rows(layer.backward))},
               {"nnz", layer.mask.nnz()},
               {"sparsity", layer.mask.sparsity()},
               {"hash", short_name(layer.mask.hash())}};
  if (layer.conv) json["shape"] = {shape.out, shape.in, shape.kernel_h, shape.kernel_w};
  return json;
}

Json conv_json(const InspectedConv& conv) {
  const Padding2d& padding = conv.conv.padding;
  const StreamGrid& grid = conv.streams.grid;
  Json planes = Json::array();
  for (const StreamPlane& plane : conv.streams.source.planes) {
    planes.push_back({{"row_phase", plane.row_phase},
                      {"column_phase", plane.column_phase},
                      {"rows", plane.rows},
                      {"columns", plane.columns}});
  }
  const ImageSize& output = conv.streams.destination.size;
  return {{"stride", {conv.conv.stride.h, conv.conv.stride.w}},
          {"padding", {padding.top, padding.bottom, padding.left, padding.right}},
          {"dilation", {conv.conv.dilation.h, conv.conv.dilation.w}},
          {"groups", conv.conv.groups},
          {"input", {conv.image.height, conv.image.width}},
          {"output", {output.height, output.width}},
          {"row_pitch", grid.row_pitch},
          {"image_rows", grid.image_rows},
          {"halo", {grid.halo_rows, grid.halo_columns}},
          {"planes", planes}};
}

Json machine_json(const MachineModel& machine) {
  return {{"cpu", machine.cpu},           {"isa", machine.isa.name},
          {"lanes", machine.isa.lanes},   {"unrolled_isa", machine.unrolled_isa.name},
          {"l1_bytes", machine.l1_bytes}, {"l2_bytes", machine.l2_bytes},
          {"l3_bytes", machine.l3_bytes}};
}

Json pass_json(const PassInspection& pass, const ListingChoice& choice) {
  Json json = {{"pass", to_text(pass.pass)}, {"kernels", Json::array()}};
  for (const KernelInspection& kernel : pass.kernels) {
    json["kernels"].push_back(kernel_json(kernel, choice));
  }
  if (pass.kernels.empty()) json["reason"] = pass.reason;
  return json;
}

}  // namespace sparsejit::frontend
