#!/bin/bash
# stackreel-record with a slow reader: the recorder first cuts stacks, then drops samples, but never process events, and counts all that are lost.
# Inspects files with the independent reader. Needs root and BPF.
# run.sh: records thorough
# checks: =record =record/output =record/sampling format
# shellcheck disable=SC2094,SC2181,SC2217
. "$(dirname "$0")/../count.sh"
tests=$PWD/tests

if [ ! -x "$recorder" ] || [ ! -x "$stackreel" ] || [ "$(id -u)" != 0 ]; then
    skip "needs root, $recorder and $stackreel"
    finish
fi
for program in busy spawn_many; do
    "${CC:-cc}" -O2 -g -pthread -o "$work/$program" "tests/programs/$program.c" || { failed=1; finish; }
done
cd "$work" || exit
"$recorder" -q -o probe.reel -- true 2>err
[ -s probe.reel ] || { skip "$(head -n 1 err)"; finish; }

# Noise fills the pipe, but the independent reader is slow on it, so it gets the capture without noise.
without_noise() {
    "$stackreel" scrub -q -o "${1%.reel}.small.reel" "$1"
}

# counts FILE: samples, then the sums of LOSS causes 1, 2, 4 and 6, then the number of cut stacks among the last 50 samples.
counts() {
    python3 "$tests/reader/reel_reader.py" "$1" | python3 -c '
import json, sys
lost, flags = {}, []
for line in sys.stdin:
    record = json.loads(line)
    if record.get("record") == "LOSS":
        lost[record["cause"]] = lost.get(record["cause"], 0) + record["count"]
    elif record.get("record") == "SAMPLE":
        flags.append(record["flags"] & 1)
print(len(flags), *(lost.get(cause, 0) for cause in (1, 2, 4, 6)), sum(flags[-50:]))'
}

# ---- each sample is written or counted ------------------------------------------------

# The ring is large so that some samples get through: faults arrive as fast as the host makes them.
# Page faults are sampled since the program determines their number. A run without noise has a few, which the others have as well.
"$recorder" -e page-faults -c 1 -o few.reel -- ./busy faults 1 16384 2>err
read -r few _ < <(counts few.reel)
"$recorder" --raw-stacks --ring-size 256M -e page-faults -c 1 -o - -- ./busy faults 100001 16384 2>err | "$tests/record/slow_reader.py" slow.reel 1000000 3
[ "${PIPESTATUS[0]}" = 0 ]
count $? "a slow reader is not an error"
ok "the file is readable" without_noise slow.reel
ok "the file is complete" "$tests/record/record_check.py" slow.small.reel complete
read -r samples full busy cut dropped at_end < <(counts slow.small.reel)
echo "100,000 samples of 16 KB to a slow reader: $((samples - few)) written, $dropped dropped, $full found the ring full, $busy its lock held; $cut stacks cut" >facts
[ "$dropped" -gt 100 ]
count $? "drops samples"
[ "$cut" -gt 100 ]
count $? "cuts stacks first"
total=$((samples + full + busy + dropped - few))
[ $total -ge 99990 ] && [ $total -le 100010 ]
count $? "all samples are written or counted: $(cat facts)"
told=$(sed -nE 's/.*, ([0-9,]+) lost, .*, ([0-9,]+) dropped because the output was too slow.*/\1 \2/p' err | tr -d ,)
[ "$told" = "$((full + busy + dropped)) $dropped" ]
count $? "the summary reports this"

# Whose samples were in a full ring. The recorder, which is the shell's parent, stops meanwhile.
# shellcheck disable=SC2016
"$recorder" --raw-stacks --ring-size 4M -e page-faults -c 1 -o ring.reel -- sh -c 'kill -STOP $PPID; ./busy faults 100001 16384; kill -CONT $PPID' 2>ring.err
ok "a full ring: whose samples filled it" grep -qE '^stackreel-record: ring full: ([5-9][0-9]|100) % of the bytes read meanwhile were samples of busy \([0-9]*\)' ring.err
"$stackreel" report --no-pager ring.reel >ring.out
ok "so does the report's header" grep -q "^# note: $(sed -nE 's/^stackreel-record: (ring full: .*)/\1/p' ring.err)$" ring.out

# ---- process events, and recovery ----------------------------------------------------

# 300 processes while the reader is slow: their samples may be dropped, but the processes may not.
"$recorder" --raw-stacks -F 1000 -o - -- sh -c './busy noise 65536 6 & ./spawn_many 300 exec >pids; wait' 2>err |
    "$tests/record/slow_reader.py" slow.reel 500000 3
ok "the file is readable" without_noise slow.reel
ok "keeps process events while dropping samples" "$tests/record/record_check.py" slow.small.reel complete execs=pids
read -r samples full busy cut dropped at_end < <(counts slow.small.reel)
[ "$cut" -gt 100 ] && [ "$samples" -gt 100 ]
count $? "cuts stacks for a while ($cut)"
[ "$at_end" -lt 10 ]
count $? "stops cutting stacks when the reader is fast again ($at_end of the last 50 are cut)"
"$stackreel" info --symfs . slow.reel >info 2>err
# Processes that spawn others run ld.so, exec and exit, whose stacks may end early for other reasons.
sed -n '/Why traces ended/,/^$/p' info | grep -E '%' | awk '
    { gsub(",", "", $3); n += $3 } /root reached|stack cut/ { good += $3 } END { exit !(n && good >= 0.99 * n) }'
count $? "traces are complete or marked as cut"
grep -q 'stack cut' info
count $? "info shows the losses"

# ---- a reader that never reads ------------------------------------------------------------

mkfifo never
sleep 60 <never &
sleeper=$!
"$recorder" --raw-stacks -F 4000 -o - -- ./busy noise 65536 60 >never 2>err &
recording=$!
sleep 2
kill -INT $recording
sleep 1.5
kill -INT $recording
start=$SECONDS
wait $recording
status=$?
[ $status = 1 ] && [ $((SECONDS - start)) -lt 10 ] && grep -q 'interrupted by a signal while writing standard output' err
count $? "a second signal ends the wait (status $status)"
kill $sleeper
wait $sleeper 2>/dev/null
finish
