#!/bin/bash
# CPUs that come online and go offline during a recording, and a sleep of the host, in guests. The capture has the samples of a CPU from the moment it appears, with
# the code mapped there. If a CPU cannot be watched, the capture and the summary report it. Steps of the clock lose nothing, and parts of a
# rotated recording that begin later have the new time. After a sleep all CPUs are recorded, at the right time, and no trigger counts it as a wait. A kernel that
# is locked down is named as such.
#   CELLS="…"   the guests; the long form: x86_64-5.10 x86_64-6.12 x86_64-sid arm64-6.12 s390x-6.12
# run.sh: guests thorough
# checks: record/sampling record/host
. "$(dirname "$0")/../count.sh"
[ -x "$O/stackreel" ] || { skip "$O/stackreel is not built"; finish; }

# samples CAPTURE THREAD CPU: number of samples in compute, below main
samples() {
    "$O/stackreel" folded -q --with-comm --no-host-files --symfs "$dir" --comm "$2" --cpu "$3" "$dir/$1.reel" 2>"$work/err" |
        awk '/;main;compute(;[^;]*)? [0-9]+$/ { n += $NF } END { print n + 0 }'
}

# at_least N CAPTURE THREAD CPU
at_least() {
    local n
    n=$(samples "$2" "$3" "$4")
    echo "    $2: $3 on CPU $4: $n samples"
    [ "$n" -ge "$1" ]
    count $? "$cell: $2.reel: $3 on CPU $4: $n samples, at least $1"
}

check() {
    local all own
    at_least 10 cpus first 0
    for thread in came back quick late; do at_least 20 cpus $thread 1; done
    at_least 20 cpus gone 0
    all=$("$O/stackreel" folded -q --no-host-files "$dir/cpus.reel" 2>"$work/err" | awk '{ n += $NF } END { print n + 0 }')
    own=$("$O/stackreel" folded -q --no-host-files --comm stackreel-recor "$dir/cpus.reel" 2>"$work/err" | awk '{ n += $NF } END { print n + 0 }')
    [ "$((4 * own))" -lt "$all" ]
    count $? "$cell: $own of $all samples are from the recorder itself: not busy-waiting"
    ! grep -q 'not recorded' "$dir/cpus.log"
    count $? "$cell: $(cat "$dir/cpus.log")"

    grep -q '^stackreel-record: CPU 1 came online and is not recorded: too many open files' "$dir/limit.log" &&
        grep -qE ', 1 CPU not recorded(,.*)? -> limit.reel' "$dir/limit.log"
    count $? "$cell: reports the unwatched CPU: $(cat "$dir/limit.log")"
    "$O/stackreel" info -q --no-host-files "$dir/limit.reel" | grep -q 'CPU 1  *1  CPUs not recorded'
    count $? "$cell: limit.reel records the unwatched CPU"
    at_least 10 limit last 0
    [ "$(samples limit unseen 1)" = 0 ]
    count $? "$cell: limit.reel: no samples of the unwatched CPU"

    at_least 20 named came 1
    [ "$("$O/stackreel" folded -q --no-host-files --cpu 0 "$dir/named.reel" | wc -l)" = 0 ]
    count $? "$cell: named.reel: no samples of CPU 0"

    parts=("$dir"/clock.*.reel)
    ok "$cell: ${#parts[@]} parts while the clock is stepped" "$O/stackreel" verify "${parts[@]}"
    for thread in before future past; do
        n=0
        for part in "${parts[@]}"; do n=$((n + $(samples "$(basename "$part" .reel)" $thread 0))); done
        [ "$n" -ge 20 ]
        count $? "$cell: clock.reel: $n samples of $thread"
    done
    years=$(for part in "${parts[@]}"; do "$O/stackreel" info -q --no-host-files "$part" | sed -n 's/^started  *\([0-9]*\)-.*/\1/p'; done | uniq | tr '\n' ' ')
    [[ $years =~ ^[0-9]+\ 2040\ 2020\ $ ]]
    count $? "$cell: the parts' years are $years"

    if [ -e "$dir/lockdown.log" ]; then
        grep -q 'the kernel is locked down (confidentiality)' "$dir/lockdown.log"
        count $? "$cell: locked down: $(cat "$dir/lockdown.log")"
    fi

    [ -e "$dir/woke" ] || { skip "$cell: it cannot sleep"; return; }
    ok "$cell: the files of a sleep" "$O/stackreel" verify "$dir"/sleep.000[12].reel "$dir/flight.0001.reel"
    for part in sleep.0001 flight.0001; do at_least 10 $part before 1; done
    for part in sleep.0002 flight.0001; do at_least 10 $part after 1; done
    for part in sleep.0001 flight.0001; do
        "$O/stackreel" info -q --no-host-files "$dir/$part.reel" | grep -q ' jump: the host slept for [0-9]*\.'
        count $? "$cell: $part.reel has the sleep"
    done
    "$O/stackreel" report -q --no-host-files --by comm --at "$(cat "$dir/woke")" --for 1h "$dir/sleep.0002.reel" | grep -q ' after$'
    count $? "$cell: --at finds what ran from $(cat "$dir/woke") on"
    ! grep -q 'off-cpu:sleep' "$dir/flight.log"
    count $? "$cell: the sleep is not a wait: $(head -n 1 "$dir/flight.log")"
}

for cell in ${CELLS:-x86_64-6.12}; do
    echo "$cell:"
    dir=$work/$cell
    ! recorded "$cell" tests/vm/cpus.sh "$cell" "$dir" || check
done
finish
