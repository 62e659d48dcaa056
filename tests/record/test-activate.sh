#!/bin/bash
# run.sh: records
# --activate: samples are taken in windows of Unix time only, each with the weight of its period, and each file says the share of its time.
. "$(dirname "$0")/../count.sh"
. tests/record/recording.sh
needs_to_record
"$busy" spin 60 &
spinner=$!
trap 'kill $spinner 2>/dev/null; rm -rf "$work"' EXIT
record -q -a -F 199 --activate 1s/3s --duration 8 -o windows.reel
count $? "records: $(head -n 2 err)"
"$stackreel" script -q --no-host-files --fields time,period windows.reel >samples
"$stackreel" dump -q --json windows.reel | grep -m 1 '"start_wall_time"' >head
"$stackreel" info -q --no-host-files windows.reel | sed -n 's/.* note: --activate: samples were taken in \([0-9.]*\) % of the time, \([0-9.]*\) s of \([0-9.]*\) s$/\1 \2 \3/p' >share
python3 - <<'END' 2>err
import re
head = open("head").read()
start, wall = (int(re.search(rf'"{name}": *"?([0-9]+)', head)[1]) for name in ("start_time", "start_wall_time"))
share, active, time = map(float, open("share").read().split())
samples = [line.split() for line in open("samples") if re.match(r" *[0-9.]+:? ", line)]
at = [float(fields[0].rstrip(":")) + (wall - start) / 1e9 for fields in samples]
weight = sum(int(fields[1].rstrip(":")) for fields in samples) / 1e9
late = max(x % 3 for x in at)
windows = len({x // 3 for x in at})
assert late < 1.1, f"a sample {late} s after the beginning of a window"
assert windows >= 2, windows
assert 7.5 < time and abs(share - 100 * active / time) < 2 and 1.5 < active < 3.6, (share, active, time)
# No more than all CPUs in the windows.
import os
assert 0 < weight < 1.1 * os.cpu_count() * active, (weight, active)
END
count $? "samples are in the windows, $(cat share): $(tail -n 1 err)"
fails 2 "PERIOD longer" --activate 5m/10s -- true
count $? "--activate 5m/10s"
fails 2 "cannot be combined" -a --activate 10s/5m --off-cpu
count $? "--activate --off-cpu"
finish
