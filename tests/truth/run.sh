#!/bin/bash
# run.sh [--quick] [NAME...] - compare our results with independent programs; print the comparisons and the totals
#
# Each comparison is a script in this folder that ends with `N passed, N failed, N skipped`. --quick, for CI: fewer
# programs, shorter recordings. NAME: only these. O=DIR: the object directory (build).
. "$(dirname "$0")/../count.sh"
export O=${O:-build}
quick=()
[ "${1-}" != --quick ] || { quick=(--quick) && shift; }
names=("$@")
if [ ${#names[@]} = 0 ]; then
    names=(capture unwinders perf perf-diff symbols scrub programs)
    # tests/unwind/test-cfi-rows.sh and tests/unwind/test-synthesis.sh are the quick forms of two comparisons.
    [ ${#quick[@]} -gt 0 ] || names=(cfi synthesis "${names[@]}" diff matrix import-guests kernel)
fi
log=$work/log

number=0
for name in "${names[@]}"; do
    in_share $((number++)) || continue
    echo "==== $name"
    start=$SECONDS
    "tests/truth/$name.sh" "${quick[@]}" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    read -r p f s _ < <(grep -E '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$log" | tail -n 1 | sed -E 's/[^0-9]+/ /g')
    if [ "$status" != 0 ] && [ "${f:-0}" = 0 ] || [ "$((${p:-0} + ${f:-0} + ${s:-0}))" = 0 ]; then
        echo "failed: $name: exit status $status"
        f=$((${f:-0} + 1))
    fi
    echo "$name: $((SECONDS - start)) s"
    passed=$((passed + ${p:-0})) failed=$((failed + ${f:-0})) skipped=$((skipped + ${s:-0}))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && { [ "$passed" -gt 0 ] || [ -n "${SHARE:-}" ]; }
