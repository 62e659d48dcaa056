#!/bin/bash
# Who ends waits (--wakers), against a program that knows who released its locks.
# run.sh: records
. "$(dirname "$0")/../count.sh"
. tests/record/waits.sh
needs_to_wait locks

"$recorder" -q --wakers -o wakers.reel -- ./locks 3 >holds 2>err
ok "records who ends waits" [ -s wakers.reel ]
"$stackreel" dump -q --json wakers.reel >dump
ok "wakers are those who released the locks, or interrupts" python3 "$tests/record/wakers_check.py" holds dump

"$stackreel" folded -q --event waker wakers.reel >folded
ok "wakers have stacks of their own" grep -q '^[^ ]*with_mutex;.*unlock.* [0-9]*$' folded
"$stackreel" folded -q --wakers wakers.reel >folded
ok "their stacks are on top of the waits" grep -qE '^[^ ]*with_mutex;.*pthread_mutex_lock.*;\[woken by\];[^ ]*unlock[^ ]*;with_mutex;' folded
ok "a sleep has no waker's stack" sh -c '! grep "pause_for.*woken by" folded'
"$stackreel" report -q --stdio --off-cpu --by waker wakers.reel >by
ok "report by waker" sh -c 'grep -q " locks$" by && grep -q " \[interrupt\]$" by'

# The timeout of a socket ends in a soft interrupt.
"$recorder" -q --wakers -o soft.reel -- python3 -c '
import socket, struct
end, other = socket.socketpair()
end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 50000))
for _ in range(40):
    try:
        end.recv(1)
    except BlockingIOError:
        pass' 2>err
"$stackreel" report -q --stdio --off-cpu --by waker soft.reel >by
ok "a soft interrupt has its name: $(tail -n 3 by)" grep -q ' \[softirq: timer\]$' by

# The kernel replaces the return address of with_mutex, in the stack that waits and in the one that wakes.
if [ -r /sys/bus/event_source/devices/uprobe/type ]; then
    "$recorder" -q --wakers -e uretprobe:./locks:with_mutex -o probed.reel -- ./locks 2 >/dev/null 2>err
    for event in waker off-cpu; do
        "$stackreel" folded -q --event $event probed.reel | grep -E '(^|;)with_mutex[; ]' >chains
        [ -s chains ] && ! grep -v ';start_thread;run;with_mutex[; ]' chains >found
        count $? "$event: callers of a function that returns to the kernel: $(head -n 3 found err)"
    done
else
    skip "this kernel has no uprobes"
fi

# Ids of samples stay right in a capture of two, and in parts of a capture.
"$stackreel" merge -q -o merged.reel wakers.reel probe.reel
"$stackreel" folded -q --wakers merged.reel | grep -v '^\[no frames\] ' | sort >merged
# Only the frames: a merged capture's threads have a host.  The other capture may have a sample without any.
ok "merge keeps whose waker a sample is" sh -c "grep -v '^\[no frames\] ' folded | sort | diff - merged"
"$stackreel" resolve -q -o resolved.reel wakers.reel
"$stackreel" folded -q --wakers resolved.reel | sort >resolved
ok "resolve keeps whose waker a sample is" sh -c 'sort folded | diff - resolved'
"$stackreel" folded -q --wakers --tid "$(awk 'NR == 1 { print $3 }' holds)" wakers.reel >one
ok "a selected thread's wakers may be other threads" grep -q 'woken by' one
"$recorder" -q -e waker -o no.reel -- true 2>err
[ $? = 2 ] && grep -q 'requires off-cpu' err
count $? "waker without off-cpu: $(head -n 1 err)"

# Another process is named, but its stack is not copied if it is not recorded.
mkfifo fifo
cat fifo >/dev/null &
waiter=$!
# The recorder starts the command when it watches the process.
"$recorder" -q --wakers -p $waiter -o other.reel -- sh -c 'for _ in 1 2 3 4 5; do sleep 0.3; echo now; done' >fifo 2>err
"$stackreel" report -q --stdio --off-cpu --by waker,waker-tid other.reel >by 2>&1
ok "a process that is not recorded has a name" grep -qE '[0-9]  sh +[0-9]+$' by
! "$stackreel" folded -q --event waker other.reel >found 2>&1
ok "but no samples" [ $? = 0 ]
wait $waiter
# Waits for a disk are shorter than making their sample: their wakers come before it. The program runs before others, so that it waits for
# the disk only.
disk=$(mktemp -d /var/tmp/stackreel-wakers.XXXXXX)
cc -O2 -o sync "$tests/programs/sync.c" && chrt -f 1 true 2>err
if [ $? = 0 ]; then
    "$recorder" -q --wakers -o disk.reel -- chrt -f 1 ./sync "$disk/file" 4 2>err
    "$stackreel" dump -q --json disk.reel >dump
    python3 "$tests/record/disk_wakers_check.py" dump >found
    status=$?
    if [ $status = 2 ]; then
        skip "wakers of waits for a disk: it is too fast here: $(cat found)"
    else
        count $status "wakers of waits for a disk: $(cat found err)"
    fi
else
    skip "wakers of waits for a disk: cannot run before other programs: $(cat err)"
fi
rm -rf "$disk"
finish
