#!/bin/bash
# Processes that no sample hits cost the recorder their events: the helper that reads files and /proc is not asked about them once their files
# are known, and the capture does not have them.
# run.sh: records
# checks: record/processes record/helper
# shellcheck disable=SC2154
. "$(dirname "$0")/../count.sh"
. tests/record/recording.sh
needs_to_record

# helpers PID: the processes that it started, and those that they did
helpers() {
    local pid
    for pid in $(cat "/proc/$1/task/"*/children 2>/dev/null); do
        echo "$pid"
        helpers "$pid"
    done
}

# work: what the helpers did so far: a question makes one sleep and wake up, and an answer takes reads
work() {
    local pid
    for pid in $(helpers $recorder_pid); do
        awk '/^voluntary_ctxt_switches|^syscr/ { print $2 }' "/proc/$pid/status" "/proc/$pid/io"
    done | awk '{ sum += $1 } END { print sum + 0 }'
}

# start PROGRAM N: the recorded shell starts it so many times
start() {
    echo "$1 $2" >&"${shell[1]}"
    read -r _ <&"${shell[0]}"
}

# settled NAME BEFORE: waits until a program that the recorder does not know was asked for: so earlier events were handled
settled() {
    cp /bin/true "$1"
    start "./$1" 1
    for _ in $(seq 200); do
        after=$(work)
        [ "$after" -gt "$2" ] && sleep 0.3 && after=$(work) && return
        sleep 0.05
    done
    false
}

coproc shell { while read -r program n; do for ((i = 0; i < n; i++)); do $program; done; echo; done; }
# No sample: nothing calls the function.
"$recorder" -q -p "$shell_PID" -e "uprobe:$busy:main" -o unsampled.reel 2>err &
recorder_pid=$!
for _ in $(seq 200); do [ -n "$(helpers $recorder_pid)" ] && [ -s unsampled.reel ] && break; sleep 0.05; done
settled first "$(work)"
count $? "the helper is asked about a new program: $(head -n 2 err)"
start /bin/true 1
settled second "$(work)"
count $? "... and about the next"
before=$after
settled third "$before"
one=$((after - before)) before=$after
start /bin/true 200
settled fourth "$before"
[ $((after - before)) -lt $((2 * one + 20)) ]
count $? "200 processes of a known program: $((after - before)) reads and questions, $one without them"
kill -INT $recorder_pid
wait $recorder_pid
count $? "the recorder ends: $(head -n 2 err)"
eval "exec ${shell[1]}>&-"
if [ -x "$stackreel" ]; then
    "$stackreel" dump -q --json unsampled.reel >dump
    ! grep -E '"record": ?"(SPACE|THREAD|MAP|MODULE)"' dump >found
    count $? "the capture has no process: $(head -n 2 found)"
    grep -q '"CAPTURE"' dump
    count $? "the capture can be read"
fi
finish
