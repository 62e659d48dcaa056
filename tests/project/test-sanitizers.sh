#!/bin/bash
# The unit tests with ASan and UBSan, and stackreel on every fixture. Not test_*_fuzz: tests/fuzz damages such files with the same
# sanitizers. Nor three that would take a third of the time: about diff's numbers, limits of names, and all paths through functions.
# run.sh: makes long thorough shares
# checks: everything
. "$(dirname "$0")/../count.sh"
log=$work/log

clang=${CLANG:-clang}
if tests/fuzz/clang.sh "$clang" 2>"$log"; then
    # tests/fuzz uses the same objects.
    O=$O/fuzz variables=(SAN=fuzz CC="$clang")
else
    echo "gcc's sanitizers, because of clang: $(head -n 1 "$log")"
    O=$O/san variables=(SAN=1)
fi

left_out='_fuzz|/test_(change|demangle|unwind_paths)'
echo "unit tests and fixtures: $(part)"
n=0 units=()
for unit in $(cd tests/unit && find . -name 'test_*.c' | sed 's|^\./||; s/\.c$//' | grep -vE "($left_out)\$" | sort); do
    selected $((n++)) "tests/unit/$unit.c" && units+=("$O/tests/unit/$unit")
done
files=()
for file in testdata/format/*.reel testdata/*/*/*.reel; do
    selected $((n++)) && files+=("$file")
done
if [ "${#units[@]}${#files[@]}" = 00 ]; then
    skip "nothing of this part"
    finish
fi
# tests/run.sh runs all that it finds.
find "$O/tests/unit" -type f -executable 2>/dev/null | grep -vxFf <(printf '%s\n' "${units[@]}") | xargs -r rm
# Less optimization halves the time of the build, but gives wrong warnings; others build with all of them.
make -s -j"$(nproc)" "${variables[@]}" CFLAGS="-O1 -g1" WERROR= O="$O" "$O/stackreel" "${units[@]}" >"$log" 2>&1
status=$?
count $status "build with sanitizers"
[ $status = 0 ] || { tail -n 40 "$log" && finish; }
if [ ${#units[@]} != 0 ]; then
    env -u SHARE -u AFFECTED O="$O" tests/run.sh --unit >"$log" 2>&1 || tail -n 40 "$log"
    counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1)
    read -r p f s _ < <(sed -E 's/[^0-9]+/ /g' <<<"${counts:-0 passed, 1 failed, 0 skipped}")
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
fi

# Whatever a file contains, the program exits normally, without a sanitizer report. Each file gets one of the other commands, in turn;
# a capture without samples gets all of them, since its tables are empty.
PYTHONPATH=tests:tests/reader python3 -B - "$work/empty.reel" <<'EOF'
import sys, reel_builder as b, reel_cases
reel = reel_cases.started(b.record("EVENT", 1, 1, 0, 999, 0, 1, "cpu-clock", 0), b.record("MARK", 3000, 1, "SIGUSR2"))
open(sys.argv[1], "wb").write(reel_cases.finish(reel, samples=0).data)
EOF
[ -s "$work/empty.reel" ]
count $? "a capture without samples"
others=(report dump folded info "export --format=firefox -o /dev/null" "export --format=pprof -o /dev/null" "view -o $work/page.html")
n=0
for file in "$work/empty.reel" "${files[@]}"; do
    bad=
    commands=(script "${others[n++ % ${#others[@]}]}")
    [ "$file" != "$work/empty.reel" ] || commands=(script "${others[@]}")
    for command in "${commands[@]}"; do
        # shellcheck disable=SC2086 # a command and its options
        timeout 60 "$O/stackreel" $command --no-host-files "$file" >/dev/null 2>"$log"
        status=$?
        if [ $status -gt 3 ] || grep -qE 'Sanitizer|runtime error' "$log"; then
            bad=yes
            echo "failed: stackreel $command $file: exit status $status"
            head -n 20 "$log"
        fi
    done
    if [ -n "$bad" ]; then failed=$((failed + 1)); else passed=$((passed + 1)); fi
done
finish
