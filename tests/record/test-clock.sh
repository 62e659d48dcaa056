#!/bin/bash
# run.sh: records
# The wall clock in captures: the kernel's own account of how far it may be off, at the start and end; what `merge` says of it; and a clock that
# is set while recording (by 150 ms, and back).
. "$(dirname "$0")/../count.sh"
. tests/record/recording.sh
needs_to_record
cat >clock.py <<'P'
# clock.py: "synchronized MAXERROR_US"; clock.py SECONDS: sets the clock forward
import ctypes, sys

class Timex(ctypes.Structure):
    _fields_ = [("modes", ctypes.c_uint), ("offset", ctypes.c_long), ("freq", ctypes.c_long), ("maxerror", ctypes.c_long),
                ("esterror", ctypes.c_long), ("status", ctypes.c_int), ("constant", ctypes.c_long), ("precision", ctypes.c_long),
                ("tolerance", ctypes.c_long), ("sec", ctypes.c_long), ("usec", ctypes.c_long), ("rest", ctypes.c_char * 256)]

now = Timex()
if len(sys.argv) > 1:
    us = int(float(sys.argv[1]) * 1e6)
    now.modes, now.sec, now.usec = 0x100, us // 1000000, us % 1000000  # ADJ_SETOFFSET
result = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(now))
print("not synchronized" if now.status & 0x40 else "synchronized", now.maxerror)
sys.exit(result < 0)
P
record -q -o one.reel -- sleep 0.2
before=$(python3 clock.py)
"$stackreel" info one.reel | sed -n 's/.* clock: \(.*\), error at most \([0-9]*\) us, offset -*[0-9]* us$/\1 \2/p' >marks
[ "$(grep -c . marks)" = 2 ]
count $? "a mark at the start and one at the end: $(paste -sd';' marks)"
# The kernel's maximum grows by 500 us a second between two readings of a server.
awk -v now="$before" 'BEGIN { n = split(now, is); error = is[n]; sub(/ [0-9]+$/, "", now) }
    { at = $NF; sub(/ [0-9]+$/, "") } $0 != now || (at - error > 20000 || error - at > 20000) { exit 1 }' marks
count $? "they are what the kernel says: $before"

if unshare --uts sh -c 'hostname other && exec "$@"' sh "$recorder" -q -o two.reel -- sleep 0.2 2>err; then
    "$stackreel" merge -o merged.reel one.reel two.reel 2>said
    if [ "$(tail -n 1 marks | awk '{ print $NF }')" -gt 10000 ]; then
        grep -q 'of 2 hosts, whose clocks may be off by up to ' said
        count $? "merge says that the clocks may be off: $(cat said)"
    else
        ! grep -q 'may be off' said
        count $? "merge says nothing of exact clocks: $(cat said)"
    fi
else
    skip "merge: no UTS namespaces: $(head -n 1 err)"
fi

"$recorder" -q -F 99 --rotate 1h -o set.reel -- "$busy" spin 3 2>err &
recording=$!
for ((tries = 0; tries < 100; tries++)); do
    ls set.*.reel* >/dev/null 2>&1 && break
    sleep 0.1
done
sleep 0.5
if python3 clock.py 0.15 >set 2>&1; then
    sleep 0.7
    python3 clock.py -0.15 >set
    wait $recording
    "$stackreel" info set.0001.reel >first
    "$stackreel" info set.0002.reel >second
    grep -q ' jump: the wall clock was set forward by 0.1[0-9]* s$' first && grep -q ' jump: the wall clock was set back by 0.1[0-9]* s$' second
    count $? "the first and the second part end with a jump: $(grep -h ' jump: ' first second | xargs)"
    [ "$(ls set.*.reel | wc -l)" = 3 ]
    count $? "each jump begins a part: $(ls set.*)"
else
    skip "the clock cannot be set here: $(cat set)"
    kill $recording
    wait $recording
fi
finish
