#!/usr/bin/env bash
# Runs clang-tidy over what the release preset builds, one file a processor at a time; or over the
# files named. Tests are checked when named only: half a minute each, most of it for gtest's macros.
# The Python extension is not part of this preset.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/packages.sh
. scripts/build.sh
. scripts/sources.sh

install_missing "${BUILD_PACKAGES[@]}" clang-tidy
tool=clang-tidy
command -v clang-tidy-14 >/dev/null && tool=clang-tidy-14
[ -f build/release/compile_commands.json ] || build_preset release
files=("$@")
if [ ${#files[@]} -eq 0 ]; then
  mapfile -t files < <(project_sources | grep '\.cc$' | grep -v -E '^(tests|bench|frontend/python)/')
fi
log=$(mktemp)
status=0
printf '%s\n' "${files[@]}" |
  xargs -P "$(jobs)" -n 1 "$tool" -p build/release --quiet >"$log" 2>&1 || status=1
grep -v -E '^[0-9]+ warnings? generated\.$' "$log" || true
rm -f "$log"
exit $status
