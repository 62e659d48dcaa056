#!/bin/bash
# All waits with their exact times (--off-cpu=all), against the kernel's counts of each thread's switches and times.
# run.sh: records
. "$(dirname "$0")/../count.sh"
. tests/record/waits.sh
started=()
trap '[ ${#started[@]} = 0 ] || kill "${started[@]}" 2>/dev/null; rm -rf "$work"' EXIT
needs_to_wait waits
if ! record -q -e off-cpu --off-cpu=all -o probe.reel -- true; then
    if grep -q 'off-cpu.*requires Linux\|off-cpu=all: this kernel' err; then skip "$(head -n 1 err)"; else count 1 "records all waits"; fi
    finish
fi

# csv CAPTURE: the samples of off-cpu
csv() { "$stackreel" export -q --format=csv --event off-cpu -o - "$1"; }

"$recorder" -q --off-cpu=all --min-block 0us -o all.reel -- ./waits 3 >waits.out 2>err
csv all.reel >all.csv
"$stackreel" info -q all.reel >info
# Some virtual machines' kernels hide the switches from some threads: a wait that such a switch ends is counted as lost.
lost=$(awk '/^  CPU .* missed$/ { gsub(",", ""); n += $3 } END { print n + 0 }' info)
ok "few waits are lost: $(grep -A3 '^Losses' info)" about "$lost" 0 $(($(wc -l <all.csv) / 100))
grep -qE 'off-cpu \(every wait, found at (sched_exit_tp|finish_task_switch)\)' info
count $? "info names the event and the way: $(grep '^events' info)"
ok "each switch is a wait, and times are the kernel's" python3 "$tests/record/off_cpu_all_check.py" waits.out "$lost" all.csv

# ---- short waits, rates, locks and wakers ------------------------------------------------------

# Freed memory is overwritten: wakers are kept until their wait's sample arrives.
GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.perturb=165 \
    "$recorder" -q --off-cpu=all --min-block 1ms --wakers -g -o long.reel -- ./waits 1 >waits.out 2>err
ok "the capture is whole" "$stackreel" verify long.reel
csv long.reel >long.csv
ok "--min-block: all waits are longer" python3 "$tests/record/off_cpu_all_check.py" --min 1000000 long.csv
grep -q ',late,[^,]*,blocked,' long.csv
count $? "... and are there"
holder=$(awk '$1 == "holder" { print $2 }' waits.out)
"$stackreel" report -q --stdio --off-cpu --comm locker --by lock-owner,waker long.reel >by
grep -qE "$holder.* holder\$" by
count $? "a lock has its owner, and waits for it their waker: $(tail -n 5 by)"
"$stackreel" folded -q --wakers --comm locker long.reel >folded
grep -q ';locker;.*pthread_mutex_lock.*;\[woken by\];.*pthread_mutex_unlock.*;holder;' folded
count $? "... with its stack: $(head -n 3 folded)"
# With other programs at the tracepoint, the kernel calls them all from __traceiter_sched_exit_tp.
"$stackreel" script -q --off-cpu long.reel | grep -A2 '^late ' | grep -q ' __schedule+'
count $? "-g: stacks begin in the kernel"
"$recorder" --off-cpu=all --min-block 0us --max-rate 100 -o rate.reel -- ./waits 1 >waits.out 2>err
grep -q ' hits above --max-rate' err
count $? "--max-rate: counts what is above: $(cat err)"
# One blocked and one woken part each, on each CPU, of the burst and of the time that it took.
csv rate.reel | awk -F, -v cpus="$(nproc)" 'NR == 2 { begin = end = $3 } NR > 1 { if ($3 > end) end = $3; if ($3 - $7 < begin) begin = $3 - $7 }
    END { print NR - 1, (end - begin) / 1e9; exit !(NR > 100 && NR - 1 <= 2 * 100 * cpus * (2 + (end - begin) / 1e9)) }' >found
count $? "... and drops it: samples, and seconds: $(cat found)"

# 21 threads wait nearly always. Times are known also of waits that have no sample.
python3 -c '
import threading, time
def nap():
    while True:
        time.sleep(0.0002)
for i in range(20):
    threading.Thread(target=nap, daemon=True).start()
time.sleep(60)' &
started+=($!)
sleep 1
"$recorder" --off-cpu=all --min-block 0us --max-rate 100 -p $! --duration 2 -o missed.reel 2>err
missing=$("$stackreel" dump --json missed.reel | python3 -c '
import json, sys
print(sum(r["count"] for r in map(json.loads, sys.stdin) if r["record"] == "LOSS" and r["cause"] == 14) / 1e9)')
ok "most waits have no sample" about "$missing" 20 42
ok "... and with these, all threads wait all the time" about "$(awk "BEGIN { print $missing + $(seconds missed.reel) }")" 35 43
"$stackreel" report -q --stdio --off-cpu missed.reel | grep '^# lost: .*waits without samples [0-9.]* s$'
count $? "... as reports say"
grep -q ', waits of [0-9.]* s without samples' err
count $? "... and the recorder: $(cat err)"

# ---- waits without end -----------------------------------------------------------------------

start_to_sleep
"$recorder" -q -e off-cpu --off-cpu=all -p $! --duration 1 -o whole.reel
ok "a wait that began before and ends later counts as long as the recording" about "$(seconds whole.reel)" 0.95 "$(length whole.reel)"
"$recorder" -q -e off-cpu --off-cpu=all -p $! --duration 1.2 --rotate 500ms,5 -o part.reel
ok "... of which each part has its share" about "$(seconds part*.reel)" 1.15 "$(length part*.reel)"
[ "$(ls part*.reel | wc -l)" -ge 3 ]
count $? "... in three parts: $(ls part*.reel)"

record -q --min-block 1ms -o no.reel -- true
[ $? = 2 ] && grep -q -e '--min-block requires --off-cpu=all' err
count $? "--min-block alone is refused: $(head -n 1 err)"
finish
