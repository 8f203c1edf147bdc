# Sourced by scripts that check sources, from the root of the project.

# Every header and source of the project, one a line.
project_sources() {
  local folder
  for folder in jit runtime frontend tests bench; do
    [ ! -d "$folder" ] || find "$folder" -name '*.h' -o -name '*.cc'
  done | sort
}
