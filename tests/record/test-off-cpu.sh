#!/bin/bash
# Samples of threads that wait (--off-cpu), against programs that know how long they wait, and for what; and processes that want to hold up
# whoever looks at them.
# run.sh: records
. "$(dirname "$0")/../count.sh"
. tests/record/waits.sh
started=()
trap '[ ${#started[@]} = 0 ] || kill "${started[@]}" 2>/dev/null; rm -rf "$work"' EXIT
needs_to_wait waits stuck sleepers

# ---- states ----------------------------------------------------------------------------------

"$recorder" --off-cpu=499 -o waits.reel -- ./waits 4 >waits.out 2>err
# A busy host has fewer looks, and the recorder says how many.
looks=$(sed -nE 's/.* looked at the waiting threads ([0-9]+) times per second.*/\1/p' err)
ok "records a program that waits" [ -s waits.reel ]
"$stackreel" export -q --format=csv -o waits.csv waits.reel
ok "each thread's time is as the kernel counted it" python3 "$tests/record/off_cpu_check.py" "${looks:-450}" waits.out waits.csv

states() { "$stackreel" report -q --stdio --percent-limit 0 --by state --event off-cpu "$1" | grep -E '(blocked|preempted|woken)$'; }
states waits.reel >before
[ "$(wc -l <before)" = 3 ]
count $? "three states: $(cat before)"
for verb in resolve scrub shrink; do
    "$stackreel" $verb -q -o $verb.reel waits.reel
    ok "$verb keeps the states" diff before <(states $verb.reel)
done
"$stackreel" script -q waits.reel >script
for state in blocked preempted woken; do grep -q "^# state: $state$" script; count $? "script shows $state"; done
! grep -q '^# state: running' script
count $? "script shows no state of running threads"

# ---- waits without end ----------------------------------------------------------------------

start_to_sleep
"$recorder" -q -e off-cpu -p $! --duration 1 -o long.reel
ok "a wait that began before and ends later counts as long as the recording" about "$(seconds long.reel)" 0.95 "$(length long.reel)"
"$recorder" -q -e off-cpu -p $! --duration 2.5 --rotate 1s,5 -o part.reel
ok "... of which each part has its share" about "$(seconds part*.reel)" 2.35 "$(length part*.reel)"
[ "$(ls part*.reel | wc -l)" -ge 3 ]
count $? "... in three parts: $(ls part*.reel)"
"$recorder" -q -e off-cpu -p $! --duration 12 -o parts.reel
ok "a long wait is written in parts" about "$(seconds parts.reel)" 11.5 "$(length parts.reel)"
[ "$("$stackreel" export -q --format=csv -o - parts.reel | grep -c clock_nanosleep)" = 3 ]
count $? "... each with its stack"

# ---- many threads -----------------------------------------------------------------------------

# Looks at listed threads need Linux 6.16.
IFS=.- read -r major minor _ < <(uname -r)
if [ "$major" -gt 6 ] || { [ "$major" = 6 ] && [ "$minor" -ge 16 ]; }; then
    python3 -c '
import time
while True:
    time.sleep(0.01)' &
    napper=$!
    started+=($napper)
    # looks CAPTURE: at the napper, mostly another wait each time
    looks() { "$stackreel" export -q --format=csv --event off-cpu --pid $napper -o - "$1" | grep -c ,off-cpu,; }
    "$recorder" -q -a -e off-cpu --duration 4 -o alone.reel
    ./sleepers 12000 >sleepers.out &
    sleepers=$!
    started+=($sleepers)
    for _ in $(seq 300); do [ -s sleepers.out ] && break; sleep 0.1; done
    n=$(($(cat sleepers.out) + 1))
    "$recorder" -q -a -e off-cpu --duration 4 -o beside.reel
    kill $sleepers
    [ $(($(looks beside.reel) * 4)) -ge "$(looks alone.reel)" ]
    count $? "beside $n sleeping threads, another process is looked at about as often: $(looks beside.reel), alone $(looks alone.reel)"
    "$stackreel" export -q --format=csv --event off-cpu -o - beside.reel >beside.csv
    ok "... and its weights are exact" about "$(awk -F, -v pid=$napper '$9 == pid { n += $7 } END { print n / 1e9 }' beside.csv)" 3.4 4.1
    ok "... as are the sleepers'" about "$(awk -F, -v pid=$sleepers -v n=$n '$9 == pid { sum += $7 } END { print sum / 1e9 / n }' beside.csv)" 3.9 4.1
    kill $napper
else
    skip "looks at few of many threads: Linux 6.16"
fi

# ---- processes that hold up whoever reads their memory ----------------------------------------

# timely NAME: records `sleep' and a hostile process for two seconds
timely() {
    timeout -k 5 120 "$recorder" -q -e off-cpu -a --duration 2 -o timely.reel 2>err
    [ $? = 0 ]
    count $? "$1: ends: $(head -n 3 err)"
    ok "$1: other threads are seen" about "$("$stackreel" export -q --format=csv --pid "${started[0]}" -o - timely.reel | awk -F, '{ n += $7 } END { print n / 1e9 }')" 1.5 "$(length timely.reel)"
}

for how in userfaultfd; do
    ./stuck $how >stuck.out 2>err &
    started+=($!)
    for _ in $(seq 50); do [ -s stuck.out ] || [ -s err ] && break; sleep 0.1; done
    if [ -s stuck.out ]; then timely "a stack that never becomes readable ($how)"; else skip "$how: $(head -n 1 err)"; fi
    kill $!
done
finish
