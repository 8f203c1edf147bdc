# Sourced by the scripts beside it: installs Debian or Ubuntu packages, only those that are missing.
#
#     install_missing "${BUILD_PACKAGES[@]}"
#
# Says nothing and asks the archive nothing when everything is there. Uses sudo when not root.

BUILD_PACKAGES=(
  g++ cmake ninja-build
  libcli11-dev libdnnl-dev libfmt-dev libgtest-dev libopenblas-dev libxbyak-dev libxxhash-dev
  libzydis-dev nlohmann-json3-dev zlib1g-dev
)
CHECK_PACKAGES=(clang-format clang-tidy python3)

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Runs apt-get with its output kept back, and shown only when it fails.
apt_get_quietly() {
  local log
  log=$(mktemp)
  if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get -y "$@" >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    rm -f "$log"
    echo "sparsejit: apt-get $1 failed" >&2
    return 1
  fi
  rm -f "$log"
}

install_missing() {
  local package missing=()
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  if ! command -v apt-get >/dev/null; then
    echo "sparsejit: this system has no apt-get; install the equivalents of: ${missing[*]}" >&2
    return 1
  fi
  echo "Installing ${missing[*]}"
  apt_get_quietly update
  apt_get_quietly install --no-install-recommends "${missing[@]}"
}
