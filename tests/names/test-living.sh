#!/bin/bash
# Files in a container are found through /proc/PID/root while one of the recorded processes still runs: only for the same process, host and
# boot as the capture's, and only if they are the recorded files. The report's head lists missing files.
#
#   O=DIR   the object directory (build)
. "$(dirname "$0")/../count.sh"
tool=$PWD/$O/stackreel
pids=()
clean() {
    [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null
    wait
    rm -rf "$work"
}
trap clean EXIT

[ -x "$tool" ] || { skip "$tool is not built" && finish; }
[ "$(uname -m)" = x86_64 ] || { skip "needs x86-64, like the captures' programs" && finish; }
[ "$(id -u)" = 0 ] || { skip "chroot and mount need root" && finish; }
unshare -m true 2>"$work/err" || { skip "a mount namespace: $(cat "$work/err")" && finish; }

cat >"$work/spin.c" <<'END'
#include <unistd.h>
volatile unsigned long n;
__attribute__((noinline)) void spin_for_ever(void) { for (;;) n++; }
int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        pause();
    spin_for_ever();
}
END
"${CC:-cc}" -g -O1 -static -Wl,--build-id -o "$work/spin" "$work/spin.c" || { count 1 "build the program"; finish; }
id=$(readelf -n "$work/spin" | sed -n 's/^ *Build ID: *//p')
address=$(nm "$work/spin" | awk '$3 == "spin_for_ever" { print $1 }')
mkdir "$work/root" "$work/mounts"
cp "$work/spin" "$work/root/in-chroot"

# ---- captures that claim to be of these processes -----------------------------------------------

in_mounts() {
    exec unshare -m sh -c 'mount -t tmpfs none "$1/mounts" && cp "$1/spin" "$1/mounts/in-mounts" && shift && exec "$@"' sh "$work" "$work/mounts/in-mounts" "$@"
}

# ready PID: waits until the process has executed the program.
ready() {
    for _ in {1..600}; do
        [[ $(readlink "/proc/$1/exe") == */in-* ]] && return
        sleep 0.1
    done
}

chroot "$work/root" /in-chroot wait &
pids+=($!)
in_mounts wait &
pids+=($!)
for pid in "${pids[@]}"; do ready "$pid"; done
[ ! -e /in-chroot ] && [ ! -e "$work/mounts/in-mounts" ]
count $? "the files are not visible from here"

# capture PID PATH [KEY=VALUE...]: writes a.reel, of a process with this pid, as if recorded now on this host with the program's build-id,
# except for KEY.
capture() {
    python3 -B - "$work/a.reel" "$address" "$id" "$@" <<'END'
import os
import sys
import time
sys.path[:0] = ["tests", "tests/reader"]
import reel_builder as b
from reel_cases import capture_record, end_record, finish
out, address, build_id, pid, path, *changes = sys.argv[1:]
said = dict(hostname=os.uname().nodename, kernel_release=os.uname().release, build_id=build_id, ago="0", boot="0", ended="")
said.update(change.split("=", 1) for change in changes)
now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) - int(float(said["ago"]) * 1e9)
wall = time.time_ns() - int(float(said["ago"]) * 1e9) + int(float(said["boot"]) * 1e9)
samples = b.Samples()
samples.layout(0, [(7, 8), (16, 8)])
pc = int(address, 16)
samples.sample(1, now, thread=1, pc=pc, layout=0, values=[0x7000, pc], regions=[b.Region(0x7000, bytes(64))])
page = pc & ~0xfff
reel = b.Reel().side(
    capture_record(start_time=now, start_wall_time=wall, hostname=said["hostname"], kernel_release=said["kernel_release"]),
    b.record("EVENT", 1, 1, 0, 999, 0, 1, "cpu-clock", 0),
    b.record("MODULE", 1, 1, 0, 0, 0, 0, bytes.fromhex(said["build_id"]), path),
    b.record("SPACE", now, 1, 0, 0, int(pid), 0, 62, 64, 1, 0, 0, 0), b.record("THREAD", now, 1, 1, 0, int(pid), 0, 0, "spin"),
    b.record("MAP", now, 1, page, 0x1000, page - 0x400000, 5, 2, 1),
    *([b.record("SPACE_EXIT", now + 1, 1)] if said["ended"] else []))
open(out, "wb").write(finish(reel.samples(samples)).data)
END
}

# found yes|no NAME [OPTION...]
found() {
    local wanted=$1 name=$2 got=no
    shift 2
    "$tool" script "$@" "$work/a.reel" >"$work/out" 2>"$work/err"
    grep -q spin_for_ever "$work/out" && got=yes
    [ $got = "$wanted" ]
    count $? "$name: found: $got, expected: $wanted"
}

for i in 0 1; do
    pid=${pids[$i]} path=/in-chroot
    [ $i = 0 ] || path=$work/mounts/in-mounts
    capture "$pid" "$path"
    found yes "$path of a process that lives"
    "$tool" info "$work/a.reel" >"$work/out" 2>"$work/err"
    has out "file */proc/$pid/root$path"
    "$tool" report "$work/a.reel" >"$work/out" 2>"$work/err"
    grep -q 'no file' "$work/out" && count 1 "files are missing in $path"
    found no "... with --no-host-files" --no-host-files
    found no "... in a sandbox" --sandbox
    found yes "... as the message suggests" --no-host-files --symfs "/proc/$pid/root"
    capture "$pid" "$path" hostname=another
    found no "$path on another host"
    capture "$pid" "$path" kernel_release=another
    found no "$path on another kernel"
    capture "$pid" "$path" boot=3600
    found no "$path of another boot"
    capture "$pid" "$path" ago=3600
    found no "$path of a process that had the pid before"
    capture "$pid" "$path" ended=1
    found no "$path of a process that ended, as the capture says"
    capture "$pid" "$path" build_id=00112233
    found no "$path that is another file"
    capture $$ "$path"
    found no "$path of a process without a root of its own"
done
pid=${pids[0]}
capture "$pid" /in-chroot
kill "$pid"
wait "$pid" 2>/dev/null
found no "the process is gone"
run 0 "$tool" report "$work/a.reel"
has out '^# no file: /in-chroot \(100\.00 % of the traces end there\)$' "^# see .stackreel info' for the reason; .*--symfs /proc/PID/root\)$"
run 0 "$tool" info "$work/a.reel"
has out '/proc/PID/root for a running container'

# ---- recording ------------------------------------------------------------------------------------

# (Not in a chroot: there the kernel reports the path that the recorder sees, so the file is found anyway.)
in_mounts &
spinning=$!
pids+=($spinning)
ready $spinning
if ! timeout 100 "$O/stackreel-record" -q --embed=none -F 199 -p $spinning -o "$work/b.reel" -- tests/support/until_cpu.sh $spinning 0.5 >"$work/out" 2>"$work/err"; then
    skip "cannot record here: $(tail -n 1 "$work/err")"
    finish
fi
run 0 "$tool" report --min-complete 90 "$work/b.reel"
has out ' spin_for_ever +in-mounts$'
kill $spinning
wait $spinning 2>/dev/null
run 3 "$tool" report --min-complete 90 "$work/b.reel"
has out '^# no file: /.*/mounts/in-mounts \([0-9.]+ % of the traces end there\)$'
finish
