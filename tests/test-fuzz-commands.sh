#!/bin/bash
# Every command on captures whose records are wrong under checksums that are right, for FUZZ_SECONDS (20): tests/fuzz/commands.py. The
# same captures each time; another SEED gives others, and `make fuzz` runs it for hours.
# run.sh: thorough
set -u
cd "$(dirname "$0")/.." || exit
O=${O:-build}
. tests/count.sh
[ -x "$O/stackreel" ] || { skip "$O/stackreel is not built"; finish; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# What is found stays: its place is printed.
tests/fuzz/commands.py --stackreel "$O/stackreel" --seconds "${FUZZ_SECONDS:-20}" --seed "${SEED:-1}" --finds "$O/fuzz-commands" >"$log" 2>&1
status=$?
count $status "$(cat "$log")"
[ $status = 0 ] && tail -n 1 "$log"
finish
