#!/bin/bash
# stackreel-record into a reader that is slower than what comes: stacks are cut, then samples are dropped, process events never, and
# all of it is counted. Files are looked at with the independent reader. Needs root and BPF.
# run.sh: records thorough
# shellcheck disable=SC2094,SC2181,SC2217
set -u
cd "$(dirname "$0")/.." || exit
recorder=$PWD/${O:-build}/stackreel-record
stackreel=$PWD/${O:-build}/stackreel
tests=$PWD/tests
. tests/count.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ ! -x "$recorder" ] || [ ! -x "$stackreel" ] || [ "$(id -u)" != 0 ]; then
    skip "root, $recorder and $stackreel are needed"
    finish
fi
for program in busy spawn_many; do
    "${CC:-cc}" -O2 -g -pthread -o "$work/$program" "tests/programs/$program.c" || { failed=1; finish; }
done
cd "$work" || exit
"$recorder" -q -o probe.reel -- true 2>err
[ -s probe.reel ] || { skip "$(head -n 1 err)"; finish; }

# What fills the pipe is noise, which takes the independent reader long: it gets the capture without it.
without_noise() {
    "$stackreel" scrub -q -o "${1%.reel}.small.reel" "$1"
}

# counts FILE: samples, then the sums of LOSS causes 1, 2, 4 and 6, then how many of the last 50 samples have a cut stack.
counts() {
    python3 "$tests/reel_reader.py" "$1" | python3 -c '
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

# ---- each sample is in the file or counted ------------------------------------------------

# The ring is large, so that not all is lost there: the faults come as fast as the host makes them.
# Samples of page faults: how many there are is the program's doing. One run has a few, which the others have, too.
"$recorder" -e page-faults -c 1 -o few.reel -- ./busy faults 1 16384 2>err
read -r few _ < <(counts few.reel)
"$recorder" --raw-stacks --ring-size 256M -e page-faults -c 1 -o - -- ./busy faults 25001 16384 2>err | "$tests/slow_reader.py" slow.reel 1000000 3
[ "${PIPESTATUS[0]}" = 0 ]
count $? "a slow reader is no error"
ok "the file can be read" without_noise slow.reel
ok "the file is whole" "$tests/record_check.py" slow.small.reel complete
read -r samples full busy cut dropped at_end < <(counts slow.small.reel)
echo "25,000 samples of 16 KB to a slow reader: $((samples - few)) written, $dropped dropped, $full found the ring full, $busy its lock held; $cut stacks cut" >facts
[ "$dropped" -gt 100 ]
count $? "samples were dropped"
[ "$cut" -gt 100 ]
count $? "stacks were cut before that"
total=$((samples + full + busy + dropped - few))
[ $total -ge 24990 ] && [ $total -le 25010 ]
count $? "all samples are written or counted: $(cat facts)"
told=$(sed -nE 's/.*, ([0-9,]+) lost, .*, ([0-9,]+) dropped because the output was too slow.*/\1 \2/p' err | tr -d ,)
[ "$told" = "$((full + busy + dropped)) $dropped" ]
count $? "the summary says so"

# ---- what is kept, and what comes back ----------------------------------------------------

# 300 processes while the reader is slow: their samples may be dropped, but not they.
"$recorder" --raw-stacks -F 1000 -o - -- sh -c './busy noise 65536 6 & ./spawn_many 300 exec >pids; wait' 2>err |
    "$tests/slow_reader.py" slow.reel 500000 3
ok "that file can be read" without_noise slow.reel
ok "processes are not lost while samples are" "$tests/record_check.py" slow.small.reel complete execs=pids
read -r samples full busy cut dropped at_end < <(counts slow.small.reel)
[ "$cut" -gt 100 ] && [ "$samples" -gt 100 ]
count $? "stacks were cut for a while ($cut)"
[ "$at_end" -lt 10 ]
count $? "when the reader is fast again, stacks are whole again ($at_end of the last 50 are cut)"
"$stackreel" info --symfs . slow.reel >info 2>err
# Those that spawn run ld.so, exec and exit, whose stacks may end otherwise.
sed -n '/Why traces ended/,/^$/p' info | grep -E '%' | awk '
    { gsub(",", "", $3); n += $3 } /root reached|stack cut/ { good += $3 } END { exit !(n && good >= 0.99 * n) }'
count $? "traces are complete, or say that they are cut"
grep -q 'stack cut' info
count $? "info shows what was lost"

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
