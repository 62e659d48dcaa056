#!/bin/bash
# Runs each target of tests/fuzz on its seeds for FUZZ_SECONDS (2). For long runs that continue from earlier findings: make fuzz HOURS=8.
# run.sh: makes long thorough shares
# checks: everything
. "$(dirname "$0")/../count.sh"

clang=${CLANG:-clang}
if ! tests/fuzz/clang.sh "$clang" 2>"$work/log"; then
    skip "no clang with libFuzzer ($clang): $(head -n 1 "$work/log")"
    finish
fi
echo "fuzz targets: $(part)"
n=0 targets=() only=()
for source in tests/fuzz/fuzz_*.c; do
    selected $((n++)) "$source" || continue
    target=$(basename "$source" .c)
    targets+=("$O/fuzz/tests/fuzz/$target") only+=(--only "$target")
done
if [ ${#targets[@]} = 0 ]; then
    skip "none of the targets is in this part"
    finish
fi
make -s fuzz-build O="$O" CLANG="$clang" fuzz_targets="${targets[*]}" >"$work/log" 2>&1
status=$?
count $status "the build"
[ $status = 0 ] || { tail -n 40 "$work/log" && finish; }

# Keeps findings, whose paths are in the output.
kept=$O/fuzz/tests-corpus
rm -rf "$kept" && mkdir -p "$kept"
options=(--tests --seconds "${FUZZ_SECONDS:-2}" --programs "$O/fuzz/tests/fuzz" --corpus "$kept" "${only[@]}")
[ -x "$O/stackreel" ] && options+=(--stackreel "$O/stackreel")
tests/fuzz/run.py "${options[@]}" >"$work/log" 2>&1
status=$?
read -r p f _ < <(tail -n 1 "$work/log" | sed -E 's/[^0-9]+/ /g')
passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1}))
if [ $status = 0 ] && [ "${f:-1}" = 0 ]; then sed '$d' "$work/log"; else cat "$work/log"; fi
finish
