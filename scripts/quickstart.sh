#!/usr/bin/env bash
# From a fresh Debian 12 or current Ubuntu to a sparse network in training: installs what is
# missing, builds the release preset, trains on the embedded data. Arguments go to the training
# command, as in `scripts/quickstart.sh --method rigl --sparsity 0.98`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/packages.sh
. scripts/build.sh

install_missing "${BUILD_PACKAGES[@]}"
build_preset release
exec build/release/frontend/sparsejit train "$@"
