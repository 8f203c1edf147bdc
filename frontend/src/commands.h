// The subcommands of `sparsejit`, one function each: it adds its options to the application and
// the action that runs when the user asked for it.
//
// An action throws sparsejit::Error for wrong input; main prints the message and exits with 2.
// Results go to standard output, progress and remarks to standard error.
#pragma once

#include <CLI/CLI.hpp>

namespace sparsejit::frontend {

void add_train_command(CLI::App& app);
void add_inspect_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_info_command(CLI::App& app);

}  // namespace sparsejit::frontend
