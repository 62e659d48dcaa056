#!/bin/bash
# bench/soak, the recorder as a service under faults, for a minute; for ten with LONG=1. `make soak HOURS=N` runs it for hours.
# run.sh: records thorough longer
# checks: record bpf bench/soak =format =cli
. "$(dirname "$0")/../count.sh"
soak=$PWD/bench/soak
. tests/record/recording.sh
needs_to_record
hours=0.0167
if [ -n "${LONG:-}" ]; then
    in_share 0 || finish
    hours=0.167
fi
LOG=$work/log O=$(dirname "$recorder") "$soak" "$hours" >out 2>err
count $? "no violations: $(grep -E '^(SEED|VIOLATION)' out)"
cat out
finish
