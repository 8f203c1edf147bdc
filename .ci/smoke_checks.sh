# Sourced by .ci/run: every subcommand of the release build with small right input, then with wrong
# input, which must give exit status 2, one line on standard error and nothing else.

tool=$PWD/build/release/frontend/sparsejit
smoke=$(mktemp -d)

# Standard output of the command must be JSON in which the Python expression `$1` over `d` holds.
json_holds() {
  local expression=$1
  shift
  "$@" </dev/null | python3 -c "import json, sys; d = json.load(sys.stdin); assert ($expression)"
}

output_mentions() {
  local word=$1 output
  shift
  output=$("$@" </dev/null) || return 1
  printf '%s\n' "$output"
  [[ $output == *"$word"* ]]
}

exits_with() {
  local expected=$1 status
  shift
  "$@" </dev/null
  status=$?
  echo "status $status, expected $expected"
  [ "$status" -eq "$expected" ]
}

# Status 2, one line on standard error that mentions the word, an empty standard output.
rejects() {
  local word=$1 status lines
  shift
  "$@" </dev/null >"$smoke/out" 2>"$smoke/err"
  status=$?
  cat "$smoke/out" "$smoke/err"
  lines=$(wc -l <"$smoke/err")
  echo "status $status, $lines lines on standard error, expected 2 and 1 mentioning '$word'"
  [ "$status" -eq 2 ] && [ "$lines" -eq 1 ] && [ ! -s "$smoke/out" ] &&
    grep -q -F -e "$word" "$smoke/err"
}

# The fields that scripts rely on, in every result.
bench_fields='all(k in r for r in d["results"] for k in ("layer", "batch", "sparsity", "nnz",
  "threads", "pass", "engine", "state", "median_ms", "gflops", "chosen", "code_bytes",
  "compile_ms", "max_rel_error")) and len(d["results"]) > 0 and "machine" in d
  and all(r["max_rel_error"] < 1e-3 for r in d["results"])'
tiny_bench=("$tool" bench --shape 48x32 --batch 24 --sparsity 0.8,0.95 --threads 1 --json -)

check "version" output_mentions . "$tool" --version
check "help" output_mentions train "$tool" --help
check "info" output_mentions L2 "$tool" info
check "info on the portable engine" output_mentions portable env SPARSEJIT_ISA=portable "$tool" info
check "inspect a random mask" output_mentions vfmadd231ps \
  "$tool" inspect --random 64x64 --sparsity 0.9
printf '2, 3, 3\n0 2 3\n0 2 1\n' >"$smoke/mask.smtx"
check "inspect a convolution" output_mentions "row pitch 8" \
  "$tool" inspect --conv 16x8x3x3 --image 7x7 --padding 1 --sparsity 0.9
check "inspect a file" output_mentions vfmadd231ps "$tool" inspect "$smoke/mask.smtx"
check "bench as JSON" json_holds "$bench_fields" "${tiny_bench[@]}"
check "bench into a file" "${tiny_bench[@]:0:${#tiny_bench[@]}-1}" "$smoke/bench.json"
check "bench file is JSON" json_holds "$bench_fields" cat "$smoke/bench.json"
tiny_conv=("$tool" bench --conv 8x12x3x3 --image 6x5 --padding same --batch 3 --sparsity 0.8 --json -)
check "bench of a convolution" json_holds "$bench_fields and {r[\"engine\"] for r in d[\"results\"]} ==
  {\"native\", \"interpreted\", \"portable\", \"paper_loop\", \"dense\"}" "${tiny_conv[@]}"
check "bench of a network" json_holds "$bench_fields and d[\"network\"][\"totals\"]" \
  "$tool" bench --suite bert --batch 8 --repetitions 1 --min-time 0 --json -
check "bench of a folder of masks" json_holds "$bench_fields and d[\"results\"][0][\"mask\"] == \"mask\"" \
  "$tool" bench --suite dlmc --masks "$smoke" --batch 9 --repetitions 1 --json -
check "bench of a small network" json_holds "$bench_fields and d[\"network\"][\"suite\"] == \"mlp\"" \
  "$tool" bench --suite mlp --batch 8 --repetitions 1 --min-time 0 --json -
sweep_bench=("$tool" bench --shape 64x64 --batch 16 --sparsity 0.5:0.9 --repetitions 1 --min-time 0
  --engines native,interpreted,dense,onednn)
check "bench of a sweep derives figures" json_holds "$bench_fields and d[\"crossovers\"] and
  d[\"machine\"][\"l2_gbytes\"] > 0 and all(r[\"x_dense\"] > 0 and r[\"fma_share\"] > 0
  for r in d[\"results\"])" "${sweep_bench[@]}" --json -
check "bench into three files" "${sweep_bench[@]}" --json "$smoke/sweep.json" \
  --csv "$smoke/sweep.csv" --svg "$smoke/sweep.svg"
check "bench plot is XML" python3 -c "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])" \
  "$smoke/sweep.svg"
check "bench CSV has a line for each result" python3 -c "import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1])))
results = json.load(open(sys.argv[2]))['results']
assert len(rows) == len(results) and rows[0]['layer'] == '64x64'" "$smoke/sweep.csv" "$smoke/sweep.json"
check "bench results from a file" output_mentions "speed-up over dense" \
  "$tool" bench --results "$smoke/sweep.json" --svg -
check "bench compared with itself" output_mentions "0 of" \
  "$tool" bench --results "$smoke/sweep.json" --compare "$smoke/sweep.json"
python3 -c "import json, sys
d = json.load(open(sys.argv[1]))
for r in d['results']:
  for k in ('median_ms', 'quartile1_ms', 'quartile3_ms'): r[k] *= 3
json.dump(d, open(sys.argv[2], 'w'))" "$smoke/sweep.json" "$smoke/slower.json"
check "bench finds what got slower" exits_with 3 \
  "$tool" bench --results "$smoke/slower.json" --compare "$smoke/sweep.json"
check "bench finds what got faster" output_mentions "faster:" \
  "$tool" bench --results "$smoke/sweep.json" --compare "$smoke/slower.json"
check "bench names MKL, measured or left out" output_mentions "mkl_sparse " \
  "$tool" bench --shape 8x8 --batch 8 --sparsity 0.5 --engines dense,mkl_sparse \
  --repetitions 1 --min-time 0
check "bench of a mask file" json_holds "$bench_fields" \
  "$tool" bench --mask "$smoke/mask.smtx" --batch 9 --json -
for method in fixed gmp rigl set; do
  check "train with $method" output_mentions accuracy \
    "$tool" train --epochs 1 --hidden 32 --method "$method"
done
check "train convolutions" output_mentions accuracy \
  "$tool" train --net cnn --epochs 1 --channels 8,16 --sparsity 0.8
for engine in jit interpreted dense; do
  check "train on $engine" output_mentions accuracy \
    "$tool" train --epochs 1 --hidden 32 --engine "$engine"
done
check "train on the portable engine" output_mentions accuracy \
  env SPARSEJIT_ISA=portable "$tool" train --epochs 1 --hidden 32

check "no subcommand is rejected" rejects subcommand "$tool"
check "unknown subcommand is rejected" rejects fly "$tool" fly
check "unknown option is rejected" rejects --speed "$tool" train --speed 9
check "missing mask file is rejected" rejects missing.smtx "$tool" inspect "$smoke/missing.smtx"
printf '2, 3, 3\n0 2 3\n0 9 1\n' >"$smoke/bad.smtx"
check "malformed mask file is rejected" rejects 9 "$tool" inspect "$smoke/bad.smtx"
check "empty mask file is rejected" rejects null "$tool" inspect /dev/null
check "sparsity above one is rejected" rejects 1.5 \
  "$tool" inspect --random 8x8 --sparsity 1.5
check "malformed shape is rejected" rejects 8y8 "$tool" bench --shape 8y8 --batch 8 --sparsity 0.5
check "negative batch is rejected" rejects -3 "$tool" bench --shape 8x8 --batch -3 --sparsity 0.5
check "malformed sparsity is rejected" rejects abc \
  "$tool" bench --shape 8x8 --batch 8 --sparsity abc
check "malformed convolution is rejected" rejects 8x8x3 \
  "$tool" bench --conv 8x8x3 --image 8x8
check "image below the kernel is rejected" rejects 2x2 \
  "$tool" bench --conv 8x8x3x3 --image 2x2
check "unknown suite is rejected" rejects vgg "$tool" bench --suite vgg
check "reversed range of sparsities is rejected" rejects 0.9:0.5 \
  "$tool" bench --shape 8x8 --sparsity 0.9:0.5
check "dlmc without a folder is rejected" rejects --masks "$tool" bench --suite dlmc
check "missing folder of masks is rejected" rejects "$smoke/none" \
  "$tool" bench --suite dlmc --masks "$smoke/none"
check "plot of one sparsity is rejected" rejects --svg \
  "$tool" bench --shape 8x8 --sparsity 0.5 --svg -
check "two outputs on standard output are rejected" rejects --csv \
  "$tool" bench --shape 8x8 --json - --csv -
check "comparison with no report is rejected before measuring" rejects "$smoke/mask.smtx" \
  "$tool" bench --shape 8x8 --compare "$smoke/mask.smtx"
check "threshold without a comparison is rejected" rejects --threshold \
  "$tool" bench --shape 8x8 --threshold 0.2
check "zero epochs are rejected" rejects 0 "$tool" train --epochs 0
check "unknown engine is rejected" rejects warp "$tool" train --engine warp
check "missing data folder is rejected" rejects "$smoke/none" "$tool" train --data "$smoke/none"
check "unwritable JSON file is rejected before measuring" rejects "$smoke/none" \
  "${tiny_bench[@]:0:${#tiny_bench[@]}-1}" "$smoke/none/bench.json"

rm -rf "$smoke"
