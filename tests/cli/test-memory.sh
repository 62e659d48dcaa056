#!/bin/bash
# Replaying ten times as many samples needs hardly more memory.
# run.sh: makes thorough
# checks: =replay/traces =replay/names format
. "$(dirname "$0")/../count.sh"
tool=$O/stackreel

make -s "$O/bench/repeat" "$O/bench/measure" >"$work/log" 2>&1 || cat "$work/log"
tests/matrix/unpack.sh x86_64 "$work/symfs" || exit 1

# 17,600 and 176,000 samples of the same stacks. The short capture has dozens of blocks as well.
capture=testdata/x86_64/chains/gcc/exception.reel
"$O/bench/repeat" 100 $capture "$work/short.reel" 1000000
"$O/bench/repeat" 1000 $capture "$work/long.reel" 1000000
[ "$(stat -c %s "$work/long.reel")" -gt $((9 * $(stat -c %s "$work/short.reel"))) ]
count $? "make a capture with ten times the samples"

# peak FILE COMMAND...: peak memory in KB, or empty if the command failed. FILE is the standard input.
peak() {
    local file=$1
    shift
    "$O/bench/measure" "$work/taken" "$tool" "$@" <"$file" >/dev/null 2>"$work/err" && cut -d' ' -f4 "$work/taken"
}

# flat COMMAND...: FILE is replaced by the capture.
flat() {
    local short long
    short=$(peak "$work/short.reel" "${@/FILE/$work/short.reel}")
    long=$(peak "$work/long.reel" "${@/FILE/$work/long.reel}")
    [ -n "$short" ] && [ -n "$long" ] && [ $((10 * long)) -le $((11 * short)) ]
    count $? "$*: ${short:-no} KB, ${long:-no} KB for many more samples: $(head -n 1 "$work/err")"
}

files=(--no-host-files --symfs "$work/symfs" -q)
for jobs in 1 2; do
    for command in folded report script; do
        flat $command -j $jobs "${files[@]}" FILE
    done
done
flat folded -j 1 "${files[@]}" -
flat info "${files[@]}" FILE
for format in ndjson csv firefox; do flat export --format=$format -o "$work/exported" -j 1 "${files[@]}" FILE; done
# Parquet's rows wait for a group, of 122,880 samples; the memory of the largest one is reached after some.
"$O/bench/repeat" 3000 $capture "$work/short.reel" 1000000
"$O/bench/repeat" 10000 $capture "$work/long.reel" 1000000
flat export --format=parquet -o "$work/parquet" -j 1 "${files[@]}" FILE
finish
