#!/bin/bash
# run.sh: records
# stackreel-record as a service: options from a file, with errors by file and line; SIGHUP reads it again, an invalid file changes nothing;
# --status in its formats, also of hostile files; the disk budget of two recorders, one of which takes over.
. "$(dirname "$0")/../count.sh"
. tests/record/recording.sh

# rejects LINE MESSAGE
rejects() {
    printf '# a comment\n\n%s\n' "$1" >bad.conf
    fails 2 "^stackreel-record: bad\.conf:3: $2" --config bad.conf -a
    count $? "--config: $1"
}
rejects bogus 'unknown option'
rejects 'config = bad.conf' 'unknown option'
rejects freq 'this option needs a value'
rejects 'all-cpus = yes' 'this option has no value'
rejects 'freq = x' "-F: invalid number 'x'"
rejects 'rotate 10' "--rotate: missing unit in '10'"
fails 2 '^stackreel-record: none.conf: No such file' --config none.conf -a
count $? "--config: a missing file"
fails 2 '^stackreel-record: /dev/zero: a configuration file may have 64 KiB' --config /dev/zero -a
count $? "--config: an endless file"
needs_to_record

# With a command, and options after --config.
printf 'freq = 49\noutput = wrong.reel\r\n  g  \n' >c.conf
run 0 "$recorder" -q --config c.conf -o command.reel -- "$busy" spin 0.3
[ -s command.reel ] && [ ! -e wrong.reel ]
count $? "--config with a command: later options override"

until_parts() { for _ in $(seq 600); do [ "$(ls parts/*.reel 2>/dev/null | wc -l)" -ge "$1" ] && return; sleep 0.1; done; return 1; }
"$busy" spin 120 &
spinner=$!
printf 'pid = %s\nfreq 49\nrotate = 300ms,3000\noutput = parts/\n' $spinner >c.conf
"$recorder" --config c.conf 2>err &
recorder_pid=$!
trap 'kill $recorder_pid $spinner 2>/dev/null; rm -rf "$work"' EXIT
until_parts 2
count $? "--config: a recording without a command"

# ---- --status ------------------------------------------------------------------------------

status_file=/run/stackreel/$recorder_pid.status
for _ in $(seq 100); do grep -q '^last_part .*reel$' $status_file 2>/dev/null && break; sleep 0.1; done
"$recorder" --status=json $recorder_pid >json
"$recorder" --status $recorder_pid >text
"$recorder" --status=prometheus >prometheus
python3 - $recorder_pid json text prometheus >why <<'END'
import json, os, re, sys
pid = sys.argv[1]
status = json.load(open(sys.argv[2]))
text = open(sys.argv[3]).read()
metrics = {}
for line in open(sys.argv[4]):
    if line.startswith("#"):
        assert re.fullmatch(r"# (HELP [a-z_]+ .+|TYPE [a-z_]+ (counter|gauge))\n", line), line
        continue
    match = re.fullmatch(r'(stackreel_[a-z_]+)\{pid="([0-9]+)"(?:,trigger="",file="")?\} ([0-9.]+)\n', line)
    assert match, line
    metrics[match[1], match[2]] = float(match[3])
print(status)
assert status["pid"] == int(pid) and status["samples"] > 0 and status["parts"] >= 2
assert os.path.exists(status["last_part"]) and status["last_part"].endswith(".reel")
assert 0 < status["cpu_seconds"] < 60 and 1 << 20 < status["memory_bytes"] < 1 << 30
assert metrics["stackreel_samples_total", pid] >= status["samples"]
assert metrics["stackreel_cpu_seconds_total", pid] >= status["cpu_seconds"]
assert re.search(r"samples +[0-9,]+\n", text) and status["last_part"] in text
END
count $? "--status as text, JSON and for Prometheus: $(xargs <why)"
"$recorder" --status=prometheus | awk '/^# TYPE/ && seen[$3]++ { exit 1 }'
count $? "--status=prometheus: each metric is described once"

# hostile CONTENT MESSAGE: a file that somebody else wrote
hostile() {
    printf "$1" >x.status
    fails 1 "$2" --status ./x.status
    count $? "--status of $(printf %.30q "$1")"
}
hostile '' "not a recorder's status"
hostile 'pid 1\nstarted 5\n' 'has ended'
hostile 'pid 99999999999999999999999\nstarted 5\n' 'has ended'
head -c 100000 /dev/urandom >x.status
fails 1 "x.status: " --status ./x.status
count $? "--status of noise"
sed 's/^last_part.*/last_part \x1b[31m"\\,"evil":"/; s/^samples .*/samples -1/' $status_file >x.status
"$recorder" --status=json ./x.status >json
python3 -c 'import json, sys; status = json.load(open("json")); sys.exit("evil" in status or "\x1b" in status["last_part"] or status["samples"])'
count $? "--status of a hostile path: $(cat -v json)"
mkfifo fifo
fails 1 'not a regular file' --status ./fifo
count $? "--status of a FIFO"
ln -s $status_file link
fails 1 'reading ./link' --status ./link
count $? "--status of a link"

# ---- SIGHUP --------------------------------------------------------------------------------

# When one recorder ends or fails, the other's status must not disappear: it writes it every two seconds.
while [ ! -e stop ]; do "$recorder" --status=json $recorder_pid 2>&1 >/dev/null; sleep 0.02; done >missing &
watcher=$!
echo bogus >>c.conf
kill -HUP $recorder_pid
n=$(ls parts/*.reel | wc -l)
until_parts $((n + 2))
grep -q 'c.conf:5: unknown option' err && grep -q 'going on with the previous configuration' err
count $? "SIGHUP with an invalid file: the recording goes on: $(xargs <err)"
sed -i '/bogus/d; s/freq 49/freq 199/' c.conf
kill -HUP $recorder_pid
n=$(ls parts/*.reel | wc -l)
until_parts $((n + 4)) && kill -0 $recorder_pid
count $? "SIGHUP: records again, under the same process ID"
# The next recorder cannot begin: the first one goes on.
sed -i.good 's/^output.*/output = c.conf\/parts\//' c.conf
kill -HUP $recorder_pid
for _ in $(seq 300); do grep -q 'going on with the previous recorder' err && break; sleep 0.1; done
n=$(ls parts/*.reel | wc -l)
until_parts $((n + 2)) && grep -q 'going on with the previous recorder' err
count $? "SIGHUP: a recorder that cannot begin leaves the first one: $(grep -v embedded err | tail -n 2 | xargs)"
mv c.conf.good c.conf
touch stop
wait $watcher
[ ! -s missing ]
count $? "SIGHUP: the status is never missing: $(sort missing | uniq -c | xargs)"
kill -TERM $recorder_pid
wait $recorder_pid
status=$?
[ $status = 0 ] && ! ls parts/*.partial 2>/dev/null && [ ! -e $status_file ]
count $? "SIGTERM: the last part is finished (status $status)"
if [ -x "$stackreel" ]; then
    for part in parts/*.reel; do "$stackreel" dump -q "$part" | sed -nE 's/.*EVENT.*frequency=([0-9]+).*/\1/p'; done | sort -nu | xargs >rates
    [ "$(cat rates)" = "49 199" ]
    count $? "each part has the options of its time: $(cat rates)"
    # The new recorder samples before the old one ends, so only the host's load is between their samples.
    for part in parts/*.reel; do
        rate=$("$stackreel" dump -q "$part" | sed -nE 's/.*EVENT.*frequency=([0-9]+).*/\1/p')
        "$stackreel" export -q --format=ndjson -o - "$part" | sed -nE "s/.*\"time\": ?([0-9]+).*/$rate \1/p"
    done | awk '{ t = $2 / 1e9 } $1 == 49 && t > last { last = t } $1 == 199 && (!first || t < first) { first = t }
                END { printf "%.3f s", first - last; exit !(last && first && first - last < 1) }' >gap
    count $? "SIGHUP: no gap between the samples of both recorders: $(cat gap)"
fi

# ---- the budget of both recorders ----------------------------------------------------------

budget=$((2 << 20))
cat >sizes.py <<'END'
import os, sys, time
# The most bytes that the folder has, until the file `stop` appears. A file that gets its name meanwhile is found under either.
most = 0
while not os.path.exists("stop"):
    sizes = {}
    for entry in os.scandir("parts"):
        try:
            sizes[entry.inode()] = entry.stat().st_size
        except FileNotFoundError:
            pass
    most = max(most, sum(sizes.values()))
    time.sleep(0.002)
print(most)
END
rm -rf parts stop
spinners=
mkdir parts
for _ in 1 2; do "$busy" spin 120 & spinners="$spinners $!"; done
printf 'all-cpus\nfreq = 997\nraw-stacks\nring-size = 4M\nrotate = 300ms,2M\noutput = parts/\n' >c.conf
python3 sizes.py >most &
watcher=$!
"$recorder" --config c.conf 2>err &
recorder_pid=$!
trap 'touch stop; kill $recorder_pid $spinner $spinners 2>/dev/null; rm -rf "$work"' EXIT
for i in 1 2 3 4 5; do
    until_parts 2
    sleep 1
    kill -HUP $recorder_pid
    # The previous recorder prints a summary when it has ended.
    for _ in $(seq 300); do [ "$(grep -c ' samples, ' err)" = $i ] && break; sleep 0.1; done
done
count $((i != $(grep -c ' samples, ' err))) "SIGHUP: five recorders took over"
kill -TERM $recorder_pid
wait $recorder_pid
touch stop
wait $watcher
# At least half of the budget, or this would not test anything.
awk -v budget=$budget '{ exit !($1 > budget / 2 && $1 <= budget) }' most
count $? "SIGHUP: both recorders together stay within --rotate=300ms,2M: $(cat most) of $budget bytes"
finish
