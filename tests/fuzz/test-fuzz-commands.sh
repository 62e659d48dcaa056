#!/bin/bash
# Runs every command on captures with invalid records and valid checksums, for FUZZ_SECONDS (20): tests/fuzz/commands.py. The captures are
# the same each time; SEED=N selects others, and `make fuzz-commands` runs for hours.
# run.sh: thorough
# checks: =replay/rewrite =replay/capture replay/import cli
. "$(dirname "$0")/../count.sh"
[ -x "$O/stackreel" ] || { skip "$O/stackreel is not built"; finish; }
log=$work/log
# Keeps failing inputs and prints their paths.
tests/fuzz/commands.py --stackreel "$O/stackreel" --seconds "${FUZZ_SECONDS:-20}" --seed "${SEED:-1}" --finds "$O/fuzz-commands" >"$log" 2>&1
status=$?
count $status "$(cat "$log")"
[ $status = 0 ] && tail -n 1 "$log"
finish
