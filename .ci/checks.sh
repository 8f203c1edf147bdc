# Sourced by .ci/run: runs checks, keeps count, prints totals.
#
#     check "clang-format" bash scripts/format.sh     # passes when the command does
#     run_tests release bash scripts/test.sh release  # counts the tests of the JUnit report
#     print_totals                                    # the last line; fails when anything failed

passed=0
failed=0
failures=()
skips=()

note_pass() { passed=$((passed + $1)); }
note_failure() {
  failed=$((failed + $1))
  failures+=("$2")
}

# A passing check prints one line, a failing one all its output.
check() {
  local name=$1 output status
  shift
  output=$("$@" 2>&1 </dev/null)
  status=$?
  if [ $status -eq 0 ]; then
    echo "ok: $name"
    note_pass 1
  else
    printf '%s\nFAILED: %s (status %d)\n' "$output" "$name" "$status"
    note_failure 1 "$name"
  fi
}

# The number in attribute $2 of the first element of a JUnit report.
junit_count() {
  tr '\n\t' '  ' <"$1" | sed -n "s/^[^<]*\(<?[^>]*>\)\{0,1\}[^<]*<testsuite[^>]* $2=\"\([0-9]*\)\".*/\2/p"
}

run_tests() {
  local preset=$1 report=build/$1/tests.xml status tests bad skipped
  shift
  rm -f "$report"
  echo "== tests: $preset"
  "$@" </dev/null
  status=$?
  if [ $status -eq 77 ]; then
    skips+=("$preset")
    return
  fi
  tests=0 bad=0 skipped=0
  if [ -f "$report" ]; then
    tests=$(junit_count "$report" tests)
    bad=$(junit_count "$report" failures)
    skipped=$(junit_count "$report" skipped)
  fi
  note_pass $((tests - bad - skipped))
  if [ "$bad" -gt 0 ]; then
    note_failure "$bad" "tests under $preset"
  elif [ $status -ne 0 ] || [ "$tests" -eq 0 ]; then
    note_failure 1 "build or run of the tests under $preset"
  fi
}

print_totals() {
  local failure skip
  for skip in "${skips[@]:+${skips[@]}}"; do echo "skipped: $skip"; done
  for failure in "${failures[@]:+${failures[@]}}"; do echo "failed: $failure"; done
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}
