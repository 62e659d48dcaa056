#!/bin/bash
# run.sh: records
# --cpu-limit and --target-samples: what the recorder costs, by the kernel's account, and that weights stay those of each sample's frequency.
. "$(dirname "$0")/../count.sh"
. tests/record/tracefs.sh
. tests/record/recording.sh
needs_to_record

# spin SECONDS: uses so much CPU time, and prints how much exactly.
cat >spin.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
int main(int argc, char **argv)
{
    struct rusage usage;
    do {
        for (volatile int i = 0; i < 100000; i++)
            ;
        getrusage(RUSAGE_SELF, &usage);
    } while (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec < atoi(argv[1]));
    printf("%.3f\n", usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
}
C
cat >tree.py <<'P'
# tree.py SECONDS COMMAND...: "WORST SPENT": the most CPU time that the command and its descendants took in 10 s, once it has sampled for 1 s,
# by /proc's account, which includes children that have ended; then ends it.
import os, signal, subprocess, sys, time

def account(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            total = sum(map(int, file.read().rsplit(")", 1)[1].split()[11:15]))
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                total += sum(account(child) for child in map(int, file.read().split()))
        return total
    except OSError:
        return 0

recorder = subprocess.Popen(sys.argv[2:])
while not os.path.exists("limit.reel"):
    time.sleep(0.05)
time.sleep(1)
begin, looks = time.monotonic(), []
while time.monotonic() - begin < float(sys.argv[1]):
    looks.append((time.monotonic(), account(recorder.pid) / os.sysconf("SC_CLK_TCK")))
    time.sleep(0.2)
recorder.send_signal(signal.SIGTERM)
status = recorder.wait()
print(max(b - a for at, a in looks for to, b in looks if 0 < to - at <= 10), status)
P
${CC:-cc} -O1 -o spin spin.c || { failed=1; finish; }

# limited NAME SECONDS OPTION...: a recording with --cpu-limit takes no more than the limit, and has steps
limited() {
    local name=$1 seconds=$2 worst status
    shift 2
    rm -f limit.reel
    read -r worst status < <(python3 tree.py "$seconds" "$recorder" -q -a -o limit.reel "$@" 2>err)
    # An account in ticks is up to one off for each of the recorder's processes.
    awk -v worst="$worst" -v status="$status" -v cpus="$(nproc)" 'BEGIN { exit !(status == 0 && worst <= 0.5 / 100 * cpus * 10 + 0.03) }'
    count $? "$name: $worst s of CPU time in 10 s, status $status $(head -n 2 err)"
    "$stackreel" info limit.reel | grep ' step: ' >steps
    count $? "$name: $(grep -c . steps) steps: $(tail -n 1 steps)"
}

# weights TARGET: the weights add up to the CPU time, with at least two frequencies
weights() {
    local cpu sum n
    cpu=$("$recorder" -q -F 999 --target-samples "$1" -o weights.reel -- ./spin "$2" 2>err)
    sum=$("$stackreel" script -q -j1 --fields period weights.reel | awk 'NF == 1 { sum += $1 } END { print sum / 1e9 }')
    n=$("$stackreel" info weights.reel | grep -c ' step: ')
    awk -v cpu="$cpu" -v sum="$sum" -v n="$n" 'BEGIN { exit !(n >= 2 && sum > 0.92 * cpu && sum < 1.08 * cpu) }'
    count $? "$1: weights of $sum s, $cpu s of CPU time, $n steps $(head -n 2 err)"
}

./spin 60 >spun &
pids=$!
(while :; do /bin/true; done) 2>/dev/null &
pids="$pids $!"
trap 'kill $pids 2>/dev/null; rm -rf "$work"' EXIT
limited "processes that start" 12 -F 999 --cpu-limit 0.5
if [ -n "${LONG:-}" ]; then
    for i in 1 2 3 4 5 6 7 8; do
        (while :; do (:); done) 2>/dev/null &
        pids="$pids $!"
    done
    python3 -c 'import threading, time
for i in range(1000):
    threading.Thread(target=lambda: [time.sleep(0.01) for i in range(6000)], daemon=True).start()
time.sleep(60)' &
    pids="$pids $!"
    limited "a fork storm and 1,000 threads" 22 -F 9999 --cpu-limit 0.5
fi
kill $pids
wait $pids 2>/dev/null
weights 150/s 5
fails 2 "invalid share '0'" --cpu-limit 0 -- true
count $? "--cpu-limit 0"
fails 2 "invalid share '101'" --cpu-limit 101 -- true
count $? "--cpu-limit 101"
fails 2 "invalid rate '40000'" --target-samples 40000 -- true
count $? "--target-samples without a unit"
fails 1 "no event has a frequency" -o none.reel --target-samples 40/s -c 1 -e sched:sched_switch -a
count $? "--target-samples of a tracepoint"
finish
