// `sparsejit info`: what the tool found on this machine and what it will use of it.
//
// The processor's own bits are read here once more, because the machine model already has the cap
// of SPARSEJIT_ISA applied and a user wants to see both.
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "commands.h"
#include "dense_blas.h"
#include "output_file.h"
#include "sparsejit/runtime.h"

namespace sparsejit::frontend {
namespace {

struct MachineInfo {
  MachineModel machine;
  bool has_avx2 = false;
  bool has_fma = false;
  std::optional<std::string> isa_cap;  // SPARSEJIT_ISA, where set
  int threads = 0;
  std::string code_memory_problem;
  std::string dense;
};

MachineInfo collect_info() {
  const Runtime& runtime = Runtime::shared();
  MachineInfo info;
  info.machine = runtime.machine();
  info.has_avx2 = __builtin_cpu_supports("avx2") != 0;
  info.has_fma = __builtin_cpu_supports("fma") != 0;
  if (const char* cap = std::getenv("SPARSEJIT_ISA")) info.isa_cap = cap;
  info.threads = runtime.threads();
  info.code_memory_problem = runtime.executable_memory_problem();
  info.dense = dense_library();
  return info;
}

std::string found_text(const MachineInfo& info) {
  std::string text =
      fmt::format("{}AVX2, {}FMA", info.has_avx2 ? "" : "no ", info.has_fma ? "" : "no ");
  return text + (info.machine.avx512 ? ", AVX-512" : ", no AVX-512");
}

std::string cap_text(const MachineInfo& info) {
  if (!info.isa_cap) return "not set";
  if (*info.isa_cap == "portable") return "portable: AVX2 and FMA are hidden";
  if (*info.isa_cap == "avx2") return "avx2: AVX-512 is hidden from generated code";
  return fmt::format("\"{}\" caps nothing, known values are avx2 and portable", *info.isa_cap);
}

std::string used_text(const MachineModel& machine) {
  if (!machine.avx2_fma) return "portable C++";
  const auto describe = [](const VectorIsa& isa) {
    return fmt::format("{}, {} floats a vector, {} registers", isa.name, isa.lanes, isa.registers);
  };
  std::string text = describe(machine.isa);
  if (machine.unrolled_isa != machine.isa) {
    text += "; tiles, strips and short streams: " + describe(machine.unrolled_isa);
  }
  return text;
}

std::string info_text(const MachineInfo& info) {
  const MachineModel& machine = info.machine;
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("{:<18}{}\n", name, value);
  };
  line("version", SPARSEJIT_VERSION);
  line("CPU", machine.cpu);
  line("ISA found", found_text(info));
  line("SPARSEJIT_ISA", cap_text(info));
  line("ISA used", used_text(machine));
  line("caches", fmt::format("L1 {} KiB, L2 {} KiB, L3 {} KiB", machine.l1_bytes >> 10,
                             machine.l2_bytes >> 10, machine.l3_bytes >> 10));
  line("cores", fmt::format("{} usable, {} threads", machine.cores, info.threads));
  line("executable memory", info.code_memory_problem.empty()
                                ? "available, never writable at the same time"
                                : "refused, layers are interpreted: " + info.code_memory_problem);
  line("dense library", info.dense);
  return text;
}

nlohmann::ordered_json info_json(const MachineInfo& info) {
  const MachineModel& machine = info.machine;
  nlohmann::ordered_json json = {
      {"version", SPARSEJIT_VERSION},
      {"cpu", machine.cpu},
      {"isa_found", {{"avx2", info.has_avx2}, {"fma", info.has_fma}, {"avx512", machine.avx512}}},
      {"isa_cap", nullptr},
      {"isa_used", machine.avx2_fma ? machine.isa.name : "portable"},
      {"unrolled_isa_used", machine.avx2_fma ? machine.unrolled_isa.name : "portable"},
      {"l1_bytes", machine.l1_bytes},
      {"l2_bytes", machine.l2_bytes},
      {"l3_bytes", machine.l3_bytes},
      {"cores", machine.cores},
      {"threads", info.threads},
      {"executable_memory", info.code_memory_problem.empty()},
      {"executable_memory_problem", info.code_memory_problem},
      {"dense_library", info.dense}};
  if (info.isa_cap) json["isa_cap"] = *info.isa_cap;
  return json;
}

void run_info(const std::optional<std::string>& json) {
  if (json && *json != "-") validate_output_path(*json, "--json");
  const MachineInfo info = collect_info();
  if (json) {
    const std::string text = info_json(info).dump(2) + '\n';
    if (*json == "-") {
      fmt::print("{}", text);
      return;
    }
    write_file_atomically(*json, text, "--json");
  }
  fmt::print("{}", info_text(info));
}

}  // namespace

void add_info_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("info", "Shows the machine and what will be used of it");
  auto json = std::make_shared<std::optional<std::string>>();
  command->add_option("--json", *json, "write it as JSON to a file, - for standard output");
  command->callback([json] { run_info(*json); });
}

}  // namespace sparsejit::frontend
