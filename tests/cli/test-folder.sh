#!/bin/bash
# run.sh: records
# A directory of parts as one capture: a rotated recording of programs that run one after the other, at known times of the wall clock.
. "$(dirname "$0")/../count.sh"
. tests/record/recording.sh
needs_to_record
unset TZ

# at SECONDS ZONE: a Unix time as date(1) writes it in the zone
at() { TZ=$2 date -d "@$1" +'%F %T.%N'; }
plus() { awk -v "a=$1" -v "b=$2" 'BEGIN { printf "%.3f", a + b }'; }
# programs OPTION...: the names of the samples' programs, without the shell
programs() { "$stackreel" script "$@" 2>err | awk '/^[^ \t#]/ { print $1 }' | grep -v '^\(bash\|date\|timeout\)$' | sort -u | tr '\n' ' '; }
# only NAMES NAME OPTION...: these programs alone have samples
only() {
    local wanted=$1 name=$2 got
    shift 2
    got=$(programs "$@")
    [ "$got" = "$wanted" ]
    count $? "$name: samples of '$got' instead of '$wanted': $(cat err)"
}

cat >phases.sh <<'END'
for name in one two three; do
    date +%s.%N
    timeout 3 ./$name >/dev/null
done
date +%s.%N
END
for name in one two three; do cp "$(command -v yes)" $name; done
mkdir parts
ok "records" "$recorder" -q -F 199 --rotate 2s -o parts/p.reel -- bash -c 'bash phases.sh >times'
mapfile -t times <times
from=$(plus "${times[1]}" 0.5) to=$(plus "${times[2]}" -0.5)

# ---- times and zones -----------------------------------------------------------------------------

only 'one three two ' 'the whole directory' parts
has err 'reading [4-9] of [4-9] parts'
cmp <("$stackreel" folded -q parts 2>&1 | sort) <("$stackreel" merge -q -o all.reel parts/*.reel && "$stackreel" folded -q all.reel 2>&1 | sort)
count $? 'the directory is as its merged parts'
only 'two ' 'local time' --since "$(at "$from" UTC0)" --until "$(at "$to" UTC0)" parts
has err 'reading [1-3] of [4-9] parts, from .* UTC'
for zone in Europe/Berlin Asia/Kolkata America/St_Johns; do
    export TZ=$zone
    only 'two ' "local time in $zone" --since "$(at "$from" $zone)" --until "$(at "$to" $zone)" parts
    grep -qF "$(date -d "@$from" +'%F %T %Z (%z)')" err
    count $? "says the zone: $(cat err)"
    only 'two ' "UTC in $zone" --at "$(at "$from" UTC0) UTC" --for 2s parts
    only 'two ' "Z in $zone" --time "$(at "$from" UTC0 | tr ' ' T)Z..$(at "$to" UTC0)Z" parts
    only 'two ' "an offset in $zone" --at "$(at "$from" UTC-2) +02:00" --for 2s parts
done
unset TZ
only 'two ' 'a time without its date' --time "$(at "$from" UTC0)..$(at "$to" UTC0 | cut -d ' ' -f 2)" parts
only 'one ' '--time since the first sample' --time ..2 parts
only 'three ' '--since alone' --since "$(at "$(plus "${times[2]}" 0.5)" UTC0)" parts
only 'two ' 'a file' --since "$(at "$from" UTC0)" --until "$(at "$to" UTC0)" all.reel
only 'two ' 'the sandbox' --sandbox --since "$(at "$from" UTC0)" --until "$(at "$to" UTC0)" parts
for time in '2026-02-30 03:17' 25:00 '2026-11-27 03:17 CET' yesterday '2026-11-27 03:17:00 +2'; do
    run 2 "$stackreel" report --at "$time" parts
    says "invalid time '"
done
TZ=Europe/Berlin run 2 "$stackreel" report --at '2026-03-29 02:30' parts
says 'invalid time'
run 2 "$stackreel" report --for 2s parts
run 1 "$stackreel" report --at '2001-01-01 00:00' parts
says 'no samples in the selected time, 2001-01-01 00:00:00 UTC'

# ---- other commands ----------------------------------------------------------------------------------

window=(--since "$(at "$from" UTC0)" --until "$(at "$to" UTC0)")
run 0 "$stackreel" cut -q "${window[@]}" -o cut.reel parts
run 0 "$stackreel" flamegraph -q "${window[@]}" -o a.svg parts
run 0 "$stackreel" view -q "${window[@]}" -o a.html parts
run 0 "$stackreel" export -q --format=ndjson "${window[@]}" -o a.ndjson parts
run 0 "$stackreel" info -q "${window[@]}" parts
run 0 "$stackreel" diff -q parts all.reel
run 1 "$stackreel" verify parts
says 'is a directory'
only 'two ' 'cut' cut.reel
grep -q '"two"' a.ndjson && ! grep -q '"one"' a.ndjson
count $? 'export selects the time'

# ---- what is missing -----------------------------------------------------------------------------

cp -r parts gap
parts=(gap/*.reel)
rm "${parts[1]}"
run 0 "$stackreel" report --no-pager gap
says 'nothing was recorded on .* from .* to .* \([12]\.[0-9]+ s\)'
# A capture of another host, of another time.
mkdir hosts
cp parts/p.0001.reel "${tests%/tests}/testdata/x86_64/chains/gcc/threads.reel" hosts
run 0 "$stackreel" report -q --no-pager --by host hosts
run 0 "$stackreel" report --no-pager --at "$(at "${times[0]}" UTC0)" --for 500ms hosts
! grep -q 'nothing was recorded' err
count $? 'no gap of less than a second'
run 0 "$stackreel" report --no-pager --at "$(at "${times[0]}" UTC0)" hosts
says "nothing was recorded on $(uname -n) from .*"
says 'nothing was recorded from .* \(60\.0+ s\)|nothing was recorded on \(none\) from .* \(60'
cp -r parts hurt
parts=(hurt/*.reel)
size=$(stat -c %s "${parts[1]}")
printf '\377\377\377\377' | dd of="${parts[1]}" bs=1 seek=$((size / 2)) conv=notrunc status=none
run 1 "$stackreel" report --no-pager hurt
says "${parts[1]}"
mkdir unfinished
timeout -s KILL 4 "$recorder" -q -a -F 99 -o unfinished/p.reel 2>err
run 0 "$stackreel" ls unfinished
has out '\(unfinished\)$'
run 1 "$stackreel" report --no-pager unfinished
says 'unfinished'
head -c 10 "${parts[0]}" >hurt/short.reel
run 1 "$stackreel" ls hurt
says 'short.reel'

# ---- ls ------------------------------------------------------------------------------------------

echo text >parts/README
ln -s /etc/passwd parts/link
mkfifo parts/fifo
cp parts/p.0001.reel parts/copy
run 0 "$stackreel" ls parts
says '3 files ignored'
says 'skipped, since it is a copy'
has out "^host +from +to" "^$(uname -n) +$(TZ=UTC0 date -d "@${times[0]}" +%F) .* (one|two|three) [0-9.]+%"
run 0 "$stackreel" ls --sandbox --json parts
python3 - "$work/out" "${times[0]}" "${times[3]}" <<'END'
import json, subprocess, sys
parts = [json.loads(line) for line in open(sys.argv[1])]
assert abs(parts[0]["start"] - float(sys.argv[2])) < 2 and abs(parts[-1]["end"] - float(sys.argv[3])) < 2, parts
assert all(part["complete"] and sum(p["samples"] for p in part["programs"]) == part["samples"] for part in parts)
END
count $? 'ls --json: times and samples'
[ "$("$stackreel" ls -q --json parts 2>err | python3 -c 'import json, sys; print(sum(json.loads(l)["samples"] for l in sys.stdin))')" = \
    "$("$stackreel" script -q all.reel 2>err | grep -c '^[^ '$'\t''#]')" ]
count $? 'ls --json has all samples'
mkdir empty many
run 0 "$stackreel" ls empty
says 'no readable captures in this directory'
run 1 "$stackreel" report empty
says 'no readable captures in this directory'
# Copies are only recognized after they were read, so they cost as much as others.
for ((i = 0; i < 1000; i++)); do cp "parts/p.000$((i % 4 + 1)).reel" "many/$i.reel"; done
run 0 bash -c "time '$stackreel' ls -q many"
cpu=$(awk '/^(user|sys)/ { split($2, t, /[ms]/); sum += t[1] * 60 + t[2] } END { print sum }' err)
awk -v "cpu=$cpu" 'BEGIN { exit !(cpu < 2) }'
count $? "1,000 parts take $cpu s of CPU time"
only 'two ' 'one of 1,000' "${window[@]}" many
finish
