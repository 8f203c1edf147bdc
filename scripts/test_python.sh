#!/usr/bin/env bash
# Builds the Python package and runs its tests, in a virtual environment under build/venv:
#
#     bash scripts/test_python.sh              # arguments go to pytest, as in -k conv
#     PYTHON=python3.11 bash scripts/test_python.sh
#
# Installs what is missing first. With PYTHON the package goes into that Python instead, which has
# PyTorch already. A JUnit report is left in build/python-tests/tests.xml. Exit status 77 where the
# package index cannot be reached: skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/packages.sh

TORCH=torch==2.13.0

install_missing g++ cmake ninja-build libfmt-dev libxbyak-dev libxxhash-dev python3-dev python3-venv
if [ -n "${PYTHON:-}" ]; then
  python=$PYTHON
else
  [ -x build/venv/bin/python ] || python3 -m venv build/venv
  python=build/venv/bin/python
fi

quiet_pip() { "$python" -m pip install --quiet --disable-pip-version-check "$@" </dev/null; }

if ! "$python" -c 'import torch' 2>/dev/null && ! quiet_pip "$TORCH" ||
  ! quiet_pip 'scikit-build-core>=0.10' 'nanobind>=2.0' pytest numpy; then
  echo "test_python.sh: PyTorch or the build's packages cannot be installed here, skipped" >&2
  exit 77
fi
CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)} \
  quiet_pip --no-build-isolation --no-deps --force-reinstall .
report=build/python-tests/tests.xml
status=0
"$python" -m pytest --quiet --junit-xml "$report" "$@" </dev/null || status=$?
# The suite is the first element, as in the reports of ctest.
[ ! -f "$report" ] || sed -i -e 's/<testsuites[^>]*>//' -e 's/<\/testsuites>//' "$report"
exit $status
