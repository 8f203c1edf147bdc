// sparsejit: the command-line tool. Exit status 0: done; 2: wrong input, with one sentence on
// standard error; 3: `bench --compare` found something slower; 1: anything else.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>

#include "commands.h"
#include "sparsejit/error.h"

namespace {

// CLI11 only says that a subcommand is missing.
void validate_subcommand(const CLI::App& app, int argc, char** argv) {
  constexpr const char* kExpected = "expected train, inspect, bench or info";
  if (argc < 2) sparsejit::throw_error("no subcommand, {}", kExpected);
  const std::string first = argv[1];
  const auto known = app.get_subcommands([&](const CLI::App* s) { return s->get_name() == first; });
  if (first.rfind('-', 0) != 0 && known.empty()) {
    sparsejit::throw_error("\"{}\" is not a subcommand, {}", first, kExpected);
  }
}

int run(int argc, char** argv) {
  CLI::App app{"Compiles sparse layers to AVX2 machine code, trains with them, measures them."};
  app.require_subcommand(1);
  app.fallthrough(false);
  app.set_version_flag("--version", SPARSEJIT_VERSION);
  sparsejit::frontend::add_train_command(app);
  sparsejit::frontend::add_inspect_command(app);
  sparsejit::frontend::add_bench_command(app);
  sparsejit::frontend::add_info_command(app);
  validate_subcommand(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& error) {  // a subcommand's own status; it has said why
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    fmt::print(stderr, "sparsejit: {}\n", error.what());
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const sparsejit::Error& error) {
    fmt::print(stderr, "sparsejit: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "sparsejit: internal error: {}\n", error.what());
    return 1;
  }
}
