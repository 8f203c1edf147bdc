# Sourced by .ci/run: outside projects that use the library as its README says, once installed and
# found by find_package, once as a subdirectory.

consumer=$(mktemp -d)

# Configures tests/consumer into folder $1 with further cmake arguments, builds and runs it.
run_consumer() {
  local folder=$1
  shift
  cmake -S tests/consumer -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release "$@" &&
    cmake --build "$folder" --parallel "$(nproc)" &&
    "$folder/consumer" | tee "$folder/output" &&
    grep -q 'largest difference' "$folder/output"
}

# Public headers may not need what only the project itself uses.
installed_headers_name_no_internals() {
  ! grep -r -i -E 'xbyak|zydis|xxhash' --include='*.h' "$consumer/prefix/include" |
    grep -v '^[^:]*:[[:space:]]*//' | grep '#include'
}

check "install" cmake --install build/release --prefix "$consumer/prefix"
check "installed headers name no internals" installed_headers_name_no_internals
check "installed tool runs" "$consumer/prefix/bin/sparsejit" info
check "find_package" run_consumer "$consumer/installed" -DCMAKE_PREFIX_PATH="$consumer/prefix"
check "add_subdirectory" run_consumer "$consumer/subdirectory" -DSPARSEJIT_SOURCE="$PWD"

rm -rf "$consumer"
