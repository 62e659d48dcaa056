#!/bin/bash
# run.sh: records longer
# The flight recorder (--overwrite): a stall is in each file that was asked for after it, ten times, a hundred with LONG=1; what came
# before and after is as well, older rounds are not; the file alone gives the same traces as with the program's files.
. "$(dirname "$0")/../count.sh"
. tests/record/recording.sh
needs_to_record
cc -O2 -g -o stall "$tests/programs/stall.c" || { failed=1; finish; }
cc -O2 -fomit-frame-pointer -o steps "$tests/programs/steps.c" || { failed=1; finish; }

# until_whole FILE: at most 20 s
until_whole() {
    for ((tries = 0; tries < 400; tries++)); do
        "$stackreel" verify "$1" 2>/dev/null | grep -q ' whole: ' && return 0
        sleep 0.05
    done
    return 1
}

# until_written FILE: at most 20 s
until_written() {
    for ((tries = 0; tries < 2000; tries++)); do
        [ -s "$1" ] && return 0
        sleep 0.01
    done
    return 1
}

# has_stall FILE BEGIN END: whether the capture has a wait of half a second between these times, after which the thread may wait for a CPU
has_stall() {
    "$stackreel" script -q --ns --no-host-files --debug-dir none --fields comm,time,period,event,ip,sym "$1" >script 2>err
    awk -v "begin=$2" -v "end=$3" '
        /^stall / { split($2, t, "[.:]"); time = (t[1] "" t[2]) + 0; period = $3 + 0; inside = 0 }
        / stall$/ && !inside { inside = 1; if (time > begin && time <= end + 1e6) sum += period }
        END { exit !(sum > 4.5e8) }' script
}

mkdir none; mkfifo lines
./stall <lines &
stall=$!
exec 7>lines
"$recorder" --overwrite 10s --after 200ms --off-cpu=all -p $stall -o f.reel 2>messages &
recording=$!
steps=
trap 'kill $recording $stall $steps 2>/dev/null; rm -rf "$work"' EXIT
# The first file shows that it has begun.
for ((tries = 0; tries < 200; tries++)); do
    "$recorder" --dump $recording 2>err && break
    sleep 0.1
done
until_whole f.0001.reel
times=10
[ -n "${LONG:-}" ] && times=100
found=0 counted=0
missed=
for ((i = 1; i <= times; i++)); do
    echo "touched.$i" >&7
    until_written "touched.$i" || break
    "$recorder" --dump $recording 2>err || break
    file=$(printf f.%04d.reel $((i + 1)))
    until_whole "$file" || break
    read -r begin end <"touched.$i"
    if has_stall "$file" "$begin" "$end"; then
        found=$((found + 1))
    else
        missed+=" $file $begin $end: $(awk -v RS= -v "end=$end" '{ split($2, t, "[.:]") } (t[1] t[2]) + 0 > end - 1e9' script | head -n 20)"
        losses=$("$stackreel" info "$file" | grep '^Losses')
        missed+=" $losses"
        # Linux does not report each switch, some one in a million. The file says how long that thread waited.
        [[ $losses != *'waits without samples '[45]??.*' ms'* ]] || counted=$((counted + 1))
    fi
done
[ $((found + counted)) = $times ] && [ $counted -le 1 ]
count $? "an injected stall is in its file, $found of $times times, and $counted times a loss of its length: $(tail -n 1 messages)${missed:+, missed:$missed}"
ls f.*.reel | while read -r file; do "$stackreel" info "$file" | grep -c 'trigger: SIGUSR2'; done | grep -qv 0
count $? "info has the moment"
kill $recording
wait $recording
count $? "the recorder ends"
exec 7>&-
[ "$(ls f.*.reel | wc -l)" = $((times + 1)) ]
count $? "one file for each request"

# Three rounds, of a program whose code is in changing places; two requests at once.
rm -f f.*.reel
./steps 60 &
steps=$!
"$recorder" --overwrite 2s,16M --after 1s -F 199 -p $steps -o f.reel 2>messages &
recording=$!
sleep 7
asked=$(python3 -c 'import time; print(time.monotonic())')
"$recorder" --dump $recording
for ((tries = 0; tries < 1000; tries++)); do
    grep -q 'writing f.0001' messages && break
    sleep 0.01
done
kill -USR2 $recording
until_whole f.0001.reel
kill $recording
wait $recording
[ "$(ls f.*.reel)" = f.0001.reel ] && [ "$("$stackreel" info f.0001.reel | grep -c 'trigger: SIGUSR2')" = 2 ]
count $? "two requests at once make one file with both moments"
traces() { "$stackreel" script -q -j1 --no-inline --fields comm,time,ip,sym "$@" f.0001.reel 2>err; }
traces >with
traces --no-host-files --debug-dir none >alone
grep -q 'step_' alone && diff with alone >difference
count $? "$(grep -c '^steps ' alone) samples have the same traces without files: $(head -n 8 difference err)"
awk -v "asked=$asked" '
    /^steps / { time = $2 + 0; first = first ? first : time; before += time < asked - 1.5; after += time > asked + 0.5 }
    END { print asked - first " s before, " before " and " after " samples"; exit !(before && after && asked - first < 6) }' alone >range
count $? "the file has what came before and after, but not all: $(cat range)"

"$recorder" --overwrite 2s -p $steps --duration 1 -o unasked.reel 2>messages && ! ls unasked* >err 2>&1 && grep -q 'no file was written' messages
count $? "without a request, nothing is written"
fails 1 'not a recorder' --dump $steps && kill -0 $steps
count $? "--dump does not harm other processes"
# As glibc blocks all signals while a process forks, such as a recorder that does not take the signal yet.
python3 -c 'import signal, time
open("/proc/self/comm", "w").write("stackreel-record")
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
open("blocked", "w")
time.sleep(0.5)
signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())
time.sleep(30)' &
begins=$!
while [ ! -e blocked ] && kill -0 $begins; do sleep 0.05; done
fails 1 'not a recorder' --dump $begins && kill -0 $begins
count $? "--dump waits for a process that blocks all signals for a moment"
kill $begins
fails 2 'cannot be combined' --overwrite 1m --rotate 1m -p $steps
count $? "--overwrite excludes --rotate"
if [ -x "$stackreel" ]; then
    "$stackreel" keygen identity.key >public.keys
    "$recorder" --overwrite 2s --after 100ms -F 199 --encrypt-to public.keys -p $steps -o e.reel 2>messages &
    recording=$!
    sleep 3
    kill -USR2 $recording
    sleep 1
    kill $recording
    wait $recording
    "$stackreel" verify --identity identity.key e.0001.reel >verified 2>&1 && ! "$stackreel" info e.0001.reel >err 2>&1
    count $? "an encrypted file: $(grep whole verified)"
fi
finish
