#!/bin/bash
# Threads, built with TSan: no data races. Runs the unit tests that use threads, tests/cli/test-jobs.sh, and those of
# tests/cli/test-browse.py for top, which reads samples in the background.
# run.sh: makes long thorough shares
# checks: =replay/traces =replay/names =replay/dwarf =format =format/codec cfi cli/browse
. "$(dirname "$0")/../count.sh"
tsan=$O/tsan
log=$work/log
races=$work/races
mkdir "$races"
echo "unit tests and commands: $(part)"
n=0 units=()
for unit in replay/traces/test_traces cfi/test_row cfi/test_cfi; do
    selected $((n++)) "tests/unit/$unit.c" && units+=("$unit")
done
jobs='' top=''
selected $((n++)) && jobs=yes
selected $((n++)) && top=yes
if [ "${#units[@]}$jobs$top" = 0 ]; then
    skip "nothing of this part"
    finish
fi

make -s -j"$(nproc)" SAN=thread CFLAGS="-O1 -g1" WERROR= O="$tsan" ${jobs:+"$tsan/stackreel"} ${top:+"$tsan/stackreel"} "${units[@]/#/$tsan/tests/unit/}" >"$log" 2>&1
status=$?
count $status "build with TSan"
[ $status = 0 ] || { tail -n 40 "$log" && finish; }

for unit in "${units[@]}"; do
    timeout 600 "$tsan/tests/unit/$unit" >"$log" 2>&1
    status=$?
    [ $status = 0 ] || grep -A 30 -E 'WARNING: ThreadSanitizer|FAILED' "$log" | head -n 60
    count $status "$unit"
done

# add_counts: of the test whose output is in the log
add_counts() {
    read -r p f s _ < <(tail -n 1 "$log" | sed -E 's/[^0-9]+/ /g')
    [ "${f:-1}" = 0 ] || cat "$log"
    passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1})) skipped=$((skipped + ${s:-0}))
}

# A race makes the program exit with status 66.
if [ -n "$jobs" ]; then
    TOOL=$tsan/stackreel QUICK=1 O=$O tests/cli/test-jobs.sh >"$log" 2>&1
    add_counts
fi
[ -n "$top" ] || finish
# On a terminal, its status and its report would go unseen.
TSAN_OPTIONS=log_path=$races/race O=$tsan tests/cli/test-browse.py Top >"$log" 2>&1
add_counts
cat "$races"/* 2>/dev/null | head -n 60
! compgen -G "$races/*" >/dev/null
count $? "no race in top on a terminal"
finish
