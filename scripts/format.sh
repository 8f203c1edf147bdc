#!/usr/bin/env bash
# Checks the format of all sources; with --fix, rewrites them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/packages.sh
. scripts/sources.sh

install_missing clang-format
tool=clang-format
command -v clang-format-14 >/dev/null && tool=clang-format-14
mode=(--dry-run -Werror)
[ "${1:-}" = --fix ] && mode=(-i)
project_sources | xargs "$tool" "${mode[@]}"
