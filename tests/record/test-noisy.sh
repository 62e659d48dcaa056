#!/bin/bash
# Records the whole host while an unprivileged program generates as much work for the recorder as it can (tests/programs/noisy.c and
# fake_python.c). Other programs must not lose more than a twentieth of their samples, the recorder must end, and it must not need more memory
# than its man page states, nor more of the file than --side-limit.
# run.sh: records thorough
# checks: record/processes record/jit record/runtime
# shellcheck disable=SC2181
. "$(dirname "$0")/../count.sh"
chmod 755 "$work"
noise=
trap '[ -z "$noise" ] || kill "$noise" 2>/dev/null; rm -rf "$work"' EXIT

if [ ! -x "$recorder" ] || [ ! -x "$stackreel" ] || [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
    skip "needs root, setpriv, $recorder and $stackreel"
    finish
fi
for program in busy noisy fake_python jit_names; do
    "${CC:-cc}" -O2 -g -I. -pthread -rdynamic -o "$work/$program" "tests/programs/$program.c" || { failed=1; finish; }
done
cd "$work" || exit
mv busy victim
"$recorder" -q -o probe.reel -- true 2>err
[ -s probe.reel ] || { skip "$(head -n 1 err)"; finish; }

frequency=499
options=()
# VmHWM with a ring of 16 MB, which is mapped twice: 40 MB, plus the limit for one process's data.
memory_max_kb=110000

# beside PROGRAM ARGUMENT...: records while this runs and, as a different user, a program uses a second of CPU time. Sets samples (of the
# victim), lost and all (of all processes), left_out, memory and bytes of the file.
beside() {
    local recording peak end
    rm -rf noise && mkdir noise && chmod 777 noise
    : >started
    (cd noise && exec setpriv --reuid=65534 --regid=65534 --clear-groups "../$@" 600 >../started) &
    noise=$!
    # So that /proc lists all its mappings.
    if [[ $1 = fake_python || ${2-} = maps ]]; then
        for _ in $(seq 600); do [ -s started ] && break; sleep 0.1; done
    fi
    "$recorder" -a -F $frequency --ring-size 16M "${options[@]}" -o a.reel -- setpriv --reuid=1 --regid=1 --clear-groups ./victim spin 1 2>err &
    recording=$!
    peak=0
    end=$((SECONDS + 300))
    while [ -r /proc/$recording/status ]; do
        memory=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' /proc/$recording/status 2>/dev/null)
        [ "${memory:-0}" -gt "$peak" ] && peak=$memory
        # It had no end at all.
        [ $SECONDS -lt $end ] || kill -9 $recording
        sleep 0.1
    done
    wait $recording
    local status=$?
    kill "$noise"
    wait "$noise" 2>/dev/null
    noise=
    memory=$peak
    bytes=$(stat -c %s a.reel)
    "$stackreel" dump --json a.reel >records
    all=$(grep -c '"record": "SAMPLE",' records)
    read -r lost left_out < <(grep '"record": "LOSS"' records | python3 -c '
import json, sys
lost = {}
for record in map(json.loads, sys.stdin):
    lost[record["cause"]] = lost.get(record["cause"], 0) + record["count"]
print(sum(lost.get(cause, 0) for cause in (1, 2, 6)), lost.get(10, 0))')
    samples=$("$stackreel" script --comm=victim --no-inline --no-host-files a.reel 2>/dev/null | grep -c '^victim ')
    facts="of $frequency samples $samples recorded; $lost lost of $((all + lost)) of everyone, $left_out left out, $memory KB, $bytes bytes"
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
    # Images may take 32 MiB more; in practice these are those of the host's other programs.
    [ "$bytes" -le $((64 << 20)) ]
    count $? "$*: the file's size: $facts"
}

check noisy memfds
check noisy addresses
check noisy maps 60000
[ "$left_out" -gt 0 ] && grep -qE ', [0-9,]+ mappings? (and names|or name) left out' err
count $? "counts and reports skipped data: $(tail -n 1 err)"
check noisy forks
check noisy names
# The longest line table that is read, and long names that do not compress.
check fake_python 262144 262144 1
options=(--side-limit=1M)
check fake_python 262144 60000 2000
grep -q ', some because of --side-limit' err
count $? "reports that the limit of bytes was reached: $(tail -n 1 err)"

# Memory is returned once a part has begun after the noise.
own_memory() { awk '/^Pss_Anon/ { print $2 }' /proc/$noise/smaps_rollup; }
"$recorder" -q -a -F 19 --rotate=1s,2 -o parts.reel 2>err &
noise=$!
sleep 5
before=$(own_memory)
./jit_names map many 3000 >out
setpriv --reuid=65534 --regid=65534 --clear-groups ./noisy forks 3 >out
sleep 7
memory=$(own_memory)
[ -n "$before" ] && [ "$memory" -lt $((2 * before)) ]
count $? "a recorder that rotates returns memory: $before KB, $memory KB after noise"
kill $noise
wait $noise
noise=

finish
