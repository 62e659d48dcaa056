#!/bin/bash
# run.sh: records
# A recorder that is killed: what samples need is in the file about a second after they are, also when the disk is full, when its helpers are
# killed, and in each part of a rotated recording. Compares traces of the capture alone with those that have the program's files.
. "$(dirname "$0")/../count.sh"
. tests/record/recording.sh
needs_to_record
cc -O2 -fomit-frame-pointer -o steps "$tests/programs/steps.c" || { failed=1; finish; }

traces() { "$stackreel" script -q -j1 --no-inline --fields comm,time,ip,sym "$@" 2>err; }

# before TIME: the traces of the program's samples before this time
before() { awk -v "end=$1" '/^[^ \t#]/ { on = /^steps / && $2 + 0 < end } on'; }

# whole NAME CAPTURE TIME: its samples before TIME have the same traces without files
whole() {
    traces "$2" | before "$3" >with
    traces --no-host-files --debug-dir none "$2" | before "$3" >alone
    grep -q 'step_' alone && diff with alone >difference
    count $? "$1: $(grep -c '^steps ' alone) samples have the same traces without files: $(head -n 8 difference err)"
}

# now: seconds, of the samples' clock
now() { python3 -c 'import time; print(time.monotonic())'; }
earlier() { awk -v "time=$1" -v "by=$2" 'BEGIN { print time - by }'; }

# killed NAME SECONDS OPTION...: a recorder that is killed after some seconds
killed() {
    local name=$1 seconds=$2
    shift 2
    "$recorder" -q -F 199 -o "$name.reel" "$@" 2>err &
    local pid=$!
    sleep "$seconds"
    end=$(now)
    kill -9 $pid
    wait $pid 2>err
}

./steps 300 &
steps=$!
mkdir none small
trap 'kill $steps 2>/dev/null; umount "$work/small" 2>/dev/null; rm -rf "$work"' EXIT
for seconds in 3 5 8; do
    killed "k$seconds" $seconds -p $steps
    whole "killed after $seconds s" "k$seconds.reel" "$(earlier "$end" 1.5)"
done
killed all 5 -a
"$stackreel" cut -q --comm steps -o one.reel all.reel 2>err
whole "the whole system" one.reel "$(earlier "$end" 1.5)"

killed part 7 -p $steps --rotate 2s
parts=(part.*.reel*)
for part in "${parts[@]}"; do
    # The last part may have begun just before the kill.
    [ "$part" = "${parts[-1]}" ] && ! traces "$part" | before "$(earlier "$end" 1.5)" | grep -q '^steps' && continue
    whole "a part: $part" "$part" "$(earlier "$end" 1.5)"
done

# Of its helpers' parents, the recorder cannot start new ones: it ends, and a service starts again.
for which in 1 2; do
    "$recorder" -q -F 199 -o helper$which.reel --duration 60 -p $steps 2>err &
    started=$!
    for _ in $(seq 300); do [ -s helper$which.reel ] && break; sleep 0.1; done
    sleep 1
    mapfile -t helpers < <(pgrep -P $started -x reel-inspector)
    kill -9 "${helpers[which - 1]}"
    wait $started
    [ $? = 1 ] && grep -q "a helper process was killed.*are safe in helper$which.reel$" err
    count $? "killed, helper $which of ${#helpers[@]}: the recorder ends: $(head -n 1 err)"
    run 0 "$stackreel" verify helper$which.reel
done

# A file that nobody maps any more is closed some parts later, so that a deleted one takes no space. When it is mapped again, it is read again.
cp "$busy" gone
"$recorder" -q -F 199 --rotate 1s -o closed.reel -- \
    sh -c './gone spin 0.3; rm gone; ./steps 0.5; until [ -e go ]; do sleep 0.2; done; ./steps 3' 2>err &
started=$!
held() { find /proc/$started/fd -lname "$work/gone (deleted)" | grep -q .; }
seen=1
for _ in $(seq 600); do
    if held; then seen=0; elif [ $seen = 0 ]; then break; fi
    sleep 0.1
done
count $seen "a file that is mapped is held open"
! held
count $? "... and closed when it was not mapped for a while"
: >go
wait $started
whole "... and read again" "$(ls closed.*.reel | tail -n 2 | head -n 1)" "$(now)"

if mount -t tmpfs -o size=20m none small 2>err; then
    # Raw stacks, since scrubbed noise would not fill the disk.
    "$busy" noise 16384 60 &
    noise=$!
    "$recorder" -q -F 299 --raw-stacks -p $steps,$noise -o small/full.reel 2>err
    kill $noise
    grep -q 'No space left on device' err
    count $? "a full disk: $(head -n 1 err)"
    whole "a full disk" small/full.reel "$(earlier "$(traces small/full.reel | awk '/^steps / { end = $2 + 0 } END { print end }')" 1.5)"
    umount small
else
    skip "full disk: cannot mount tmpfs"
fi

# What a recording that is not disturbed holds, it holds once.
"$recorder" -q -F 199 --duration 5 -p $steps -o undisturbed.reel 2>err
"$stackreel" dump -q --json undisturbed.reel >dump
python3 - dump >found <<'END'
import json, sys
sizes = {}
for line in open(sys.argv[1]):
    record = json.loads(line)
    if record["record"] == "IMAGE":
        sizes.setdefault(record["module"], []).append(record["total_size"])
# The program's has changed many times: all changes together are smaller than its first image.
sizes = max(sizes.values(), key=len)
print(sizes)
sys.exit(len(sizes) < 3 or sum(sizes[1:]) > 2 * sizes[0])
END
count $? "images are not written again: $(cat found)"
whole "not disturbed" undisturbed.reel "$(now)"
python3 "$tests/reader/reel_images.py" undisturbed.reel >images 2>err && [ -s images ]
count $? "another reader applies the changes: $(head -n 2 err)"
finish
