# Sourced by scripts that check sources, from the root of the project.

# Every header and source of the project, one a line.
project_sources() {
  find jit runtime frontend tests bench \( -name '*.h' -o -name '*.cc' \) -not -path '*/build/*' |
    sort
}
