#!/bin/bash
# The ring buffers of a host with 192 CPUs: with a writer each (tests/record/ring_writers.c), and as a recording with --rings=192 makes them.
# run.sh: records
. "$(dirname "$0")/../count.sh"
recording=
trap '[ -z "$recording" ] || kill "$recording" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
[ -x "$O/tests/record/ring_writers" ] || { skip "stackreel-record is not built"; finish; }
[ "$(id -u)" = 0 ] || { skip "needs root"; finish; }

"$O/tests/record/ring_writers" >"$work/log" 2>&1
status=$?
cat "$work/log"
count $status "ring_writers"
! grep -q '^skip' "$work/log" || skipped=$((skipped + 1))

# ring_bytes: the size of each ring of the recording; the kernel's number includes some pages for positions
ring_bytes() {
    awk '$1 == "map_type:" { ring = $2 == 27 } ring && $1 == "max_entries:" { print $2 }' /proc/"$recording"/fdinfo/* 2>/dev/null
}

# The descriptors of 193 rings fit into the smallest usual limit.
(ulimit -n 1024 && exec "$O/stackreel-record" -a -F 99 --rings 192 --ring-size 64K --max-stack 4K -o "$work/a.reel" 2>"$work/err") &
recording=$!
for _ in {1..300}; do
    [ "$(ring_bytes | wc -l)" -lt 193 ] && kill -0 $recording 2>/dev/null || break
    sleep 0.1
done
sizes=$(ring_bytes | sort -n | uniq -c | awk '{ printf "%s%d of %d", (NR > 1 ? ", " : ""), $1, $2 }')
[ "$sizes" = "1 of 65536, 192 of 131072" ]
count $? "--rings=192 makes one more ring than asked for, of the size that two samples need: $sizes"
for _ in {1..100}; do
    [ ! -s "$work/a.reel" ] || break
    sleep 0.1
done
kill -INT $recording
wait $recording
count $? "a recording with 193 rings: $(cat "$work/err")"
recording=
ok "verify" "$O/stackreel" verify -q "$work/a.reel"
finish
