#!/bin/bash
# Records the whole host while an unprivileged program generates as much work for the recorder as it can (tests/programs/noisy.c). Other
# programs must not lose more than a twentieth of their samples, and the recorder must not need more memory than its man page states.
# run.sh: records thorough
# checks: record/processes record/jit record/runtime
# shellcheck disable=SC2181
set -u
cd "$(dirname "$0")/../.." || exit
recorder=$PWD/${O:-build}/stackreel-record
stackreel=$PWD/${O:-build}/stackreel
. tests/count.sh
work=$(mktemp -d)
chmod 755 "$work"
noise=
trap '[ -z "$noise" ] || kill "$noise" 2>/dev/null; rm -rf "$work"' EXIT

if [ ! -x "$recorder" ] || [ ! -x "$stackreel" ] || [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
    skip "needs root, setpriv, $recorder and $stackreel"
    finish
fi
for program in busy noisy; do
    "${CC:-cc}" -O2 -g -pthread -o "$work/$program" "tests/programs/$program.c" || { failed=1; finish; }
done
cd "$work" || exit
mv busy victim
"$recorder" -q -o probe.reel -- true 2>err
[ -s probe.reel ] || { skip "$(head -n 1 err)"; finish; }

frequency=499
# VmHWM with a ring of 16 MB, which is mapped twice: 40 MB, plus the limit for one process's data.
memory_max_kb=110000

# beside MODE...: records while noisy runs in this mode and, as a different user, a program uses a second of CPU time. Sets samples (of the
# victim), lost and all (of all processes), left_out and memory.
beside() {
    local recording peak
    rm -rf noise && mkdir noise && chmod 777 noise
    : >started
    (cd noise && exec setpriv --reuid=65534 --regid=65534 --clear-groups ../noisy "$@" 600 >../started) &
    noise=$!
    # So that /proc lists all its mappings.
    if [ "$1" = maps ]; then
        for _ in $(seq 600); do [ -s started ] && break; sleep 0.1; done
    fi
    "$recorder" -a -F $frequency --ring-size 16M -o a.reel -- setpriv --reuid=1 --regid=1 --clear-groups ./victim spin 1 2>err &
    recording=$!
    peak=0
    while [ -r /proc/$recording/status ]; do
        memory=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' /proc/$recording/status 2>/dev/null)
        [ "${memory:-0}" -gt "$peak" ] && peak=$memory
        sleep 0.1
    done
    wait $recording
    local status=$?
    kill "$noise"
    wait "$noise" 2>/dev/null
    noise=
    memory=$peak
    "$stackreel" dump --json a.reel >records
    all=$(grep -c '"record": "SAMPLE",' records)
    read -r lost left_out < <(grep '"record": "LOSS"' records | python3 -c '
import json, sys
lost = {}
for record in map(json.loads, sys.stdin):
    lost[record["cause"]] = lost.get(record["cause"], 0) + record["count"]
print(sum(lost.get(cause, 0) for cause in (1, 2, 6)), lost.get(10, 0))')
    samples=$("$stackreel" script --comm=victim --no-inline --no-host-files a.reel 2>/dev/null | grep -c '^victim ')
    facts="of $frequency samples $samples recorded; $lost lost of $((all + lost)) of everyone, $left_out left out, $memory KB"
    return "$status"
}

check() {
    beside "$@"
    count $? "$*: record"
    echo "$*: $facts"
    # Relative to the victim's CPU time, which does not depend on the load. On a host with stolen time, timers are late.
    [ "$samples" -ge $((frequency * 8 / 10)) ] && [ $((lost * 20)) -le $((all + lost)) ]
    count $? "$*: loses at most a twentieth of the samples: $facts"
    [ "$memory" -le $memory_max_kb ]
    count $? "$*: the recorder's memory: $facts"
}

check memfds
check addresses
check maps 60000
[ "$left_out" -gt 0 ] && grep -qE ', [0-9,]+ mappings? (and names|or name) left out' err
count $? "counts and reports skipped data: $(tail -n 1 err)"
check forks
check names

finish
