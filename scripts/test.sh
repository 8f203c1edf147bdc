#!/usr/bin/env bash
# Builds and runs the tests, under the release preset unless others are named:
#
#     bash scripts/test.sh                      # release
#     bash scripts/test.sh release asan tsan    # asan: address and undefined behaviour
#     bash scripts/test.sh -- -R Mask           # what follows -- goes to ctest
#
# Installs what is missing first. A JUnit report of each preset is left in build/PRESET/tests.xml.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/packages.sh
. scripts/build.sh

# The thread sanitizer of gcc 12 needs its shadow memory where address randomisation with many
# bits may put something else ("unexpected memory mapping"): switch it off where that is allowed.
without_randomisation() {
  if setarch "$(uname -m)" -R true 2>/dev/null; then
    setarch "$(uname -m)" -R "$@"
  else
    "$@"
  fi
}

run_tests() {
  local preset=$1
  shift
  local run=()
  [ "$preset" = tsan ] && run=(without_randomisation)
  "${run[@]}" ctest --preset "$preset" --parallel "$(jobs)" --no-tests=error \
    --output-junit tests.xml "$@" </dev/null
}

presets=()
while [ $# -gt 0 ]; do
  case $1 in
    release | asan | tsan) presets+=("$1") ;;
    -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --) shift; break ;;
    *)
      echo "test.sh: unknown argument '$1', expected release, asan, tsan, or -- and ctest options" >&2
      exit 2 ;;
  esac
  shift
done
[ ${#presets[@]} -eq 0 ] && presets=(release)

install_missing "${BUILD_PACKAGES[@]}"
for preset in "${presets[@]}"; do
  build_preset "$preset"
  run_tests "$preset" "$@"
done
