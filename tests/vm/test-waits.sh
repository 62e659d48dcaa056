#!/bin/bash
# Samples of threads that wait, in guests: each wait has its function and about its time, also where iterators of BPF may not sleep.
#   CELLS="…"   the guests
# run.sh: guests thorough shares
# checks: bpf record/sampling
. "$(dirname "$0")/../count.sh"
[ -x "$O/stackreel" ] || { skip "$O/stackreel is not built"; finish; }

# seconds FUNCTION: of waits below the function
seconds() {
    "$O/stackreel" folded -q --no-host-files --symfs "$dir" --off-cpu --weight=time --unit=s --no-suffix --comm "$1" "$dir/waits.reel" 2>"$work/err" |
        awk -v name="$1" 'index($0, ";" name ";") { n += $NF } END { printf "%.2f\n", n }'
}

number=0
for cell in ${CELLS:-arm64-6.12 x86_64-5.10}; do
    in_share $((number++)) || continue
    echo "$cell:"
    dir=$work/$cell
    recorded "$cell" tests/vm/off-cpu.sh "$cell" "$dir" || continue
    way= share=0.04
    [[ $cell != *-5.10 ]] || way=", stacks read by process_vm_readv"
    # Without -icount, clocks of a guest's CPUs differ for as long as a busy host stops one of them.
    [[ $cell != x86_64-* ]] || share=0.25
    # Emulated CPUs are slow: looks are rare, and only long waits count exactly. Looks of several passes are rarer still, some 8 per second, and
    # 3 on a busy host. A thread that may run, but has no CPU, is not always seen as waiting.
    low=0.8
    [ -z "$way" ] || low=0.35
    for name in long_sleep holder locker; do
        read -r wall cpu delay < <(awk -v name=$name '$1 == name { print $3 / 1e9, $4 / 1e9, $5 / 1e9 }' "$dir/waits.out")
        found=$(seconds $name)
        awk -v found="$found" -v wall="$wall" -v cpu="$cpu" -v delay="$delay" -v low=$low 'BEGIN { exit !(found > low * (wall - cpu - delay) && found < 1.2 * (wall - cpu)) }'
        count $? "$cell: $name waits for $found s, of $wall with $cpu on a CPU ($delay without one)"
    done
    "$O/stackreel" info -q --no-host-files --symfs "$dir" "$dir/waits.reel" >"$work/info"
    grep -qF "off-cpu (199 Hz$way)" "$work/info"
    count $? "$cell: info names the event, and how stacks are read"
    options=(-q --no-host-files --symfs "$dir" --comm locker)
    "$O/stackreel" folded "${options[@]}" --wakers "$dir/waits.reel" >"$work/folded"
    grep -q ';locker;.*pthread_mutex_lock.*;\[woken by\];.*pthread_mutex_unlock.*;holder;' "$work/folded"
    count $? "$cell: the holder of a lock wakes who waits for it: $(head -n 3 "$work/folded")"
    "$O/stackreel" report --stdio "${options[@]}" --off-cpu --by lock-owner,waker "$dir/waits.reel" >"$work/by"
    grep -qE ' [0-9]+ +holder$' "$work/by" && ! grep -qE ' [0-9]+ +\[interrupt\]$' "$work/by"
    count $? "$cell: and is the lock's owner: $(cat "$work/by")"
    "$O/stackreel" report --stdio "${options[@]/locker/long_sleep}" --off-cpu --by waker "$dir/waits.reel" >"$work/by"
    ! grep -qE ' (holder|locker|long_sleep)$' "$work/by"
    count $? "$cell: timers are interrupts: $(cat "$work/by")"
    # Wakers are recorded on CPUs that are not.
    "$O/stackreel" report --stdio -q --no-host-files --off-cpu --by waker "$dir/cpu0.reel" >"$work/by" 2>"$work/err"
    "$O/stackreel" info -q --no-host-files "$dir/cpu0.reel" >>"$work/by"
    awk '$NF == "sh" { n += $(NF - 1) } / missed/ { n = 0; exit } END { exit n < 10 }' "$work/by"
    count $? "$cell: with -C 0, CPU 1 wakes a thread: $(cat "$dir/cpu0.log" "$work/by")"
    # All waits: from 6.15 on by a tracepoint, before by a kprobe.
    "$O/stackreel" info -q --no-host-files --symfs "$dir" "$dir/all.reel" >"$work/info"
    "$O/stackreel" export -q --no-host-files --symfs "$dir" --format=csv --event off-cpu -o "$work/all.csv" "$dir/all.reel"
    lost=$(awk '/^  CPU .* missed$/ { gsub(",", ""); n += $3 } END { print n + 0 }' "$work/info")
    [ "$lost" -le 5 ] && python3 tests/record/off_cpu_all_check.py --emulated=$share "$dir/all.out" "$lost" "$work/all.csv" >"$work/found"
    count $? "$cell: each switch is a wait: $lost lost; $(cat "$dir/all.log" "$work/found")"
done
finish
