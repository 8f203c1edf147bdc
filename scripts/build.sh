# Sourced by the scripts beside it, from the root of the project: configures and builds a preset.
# Shows progress of the build, and the configuration's output only when it fails.

# Processors this process may use.
jobs() { nproc; }

build_preset() {
  local preset=$1 log
  log=$(mktemp)
  if ! cmake --preset "$preset" >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
  cmake --build --preset "$preset" --parallel "$(jobs)" </dev/null
}
