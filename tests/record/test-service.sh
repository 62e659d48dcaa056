#!/bin/bash
# run.sh: records
# stackreel-record as a service: options from a file, with errors by file and line; SIGHUP reads it again, an invalid file changes nothing.
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
printf 'pid = %s\nfreq 49\nrotate = 300ms,30\noutput = parts/\n' $spinner >c.conf
"$recorder" --config c.conf 2>err &
recorder_pid=$!
trap 'kill $recorder_pid $spinner 2>/dev/null; rm -rf "$work"' EXIT
until_parts 2
count $? "--config: a recording without a command"
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
kill -TERM $recorder_pid
wait $recorder_pid
status=$?
[ $status = 0 ] && ! ls parts/*.partial 2>/dev/null
count $? "SIGTERM: the last part is finished (status $status)"
if [ -x "$stackreel" ]; then
    for part in parts/*.reel; do "$stackreel" dump -q "$part" | sed -nE 's/.*EVENT.*frequency=([0-9]+).*/\1/p'; done | uniq | xargs >rates
    [ "$(cat rates)" = "49 199" ]
    count $? "each part has the options of its time: $(cat rates)"
fi
finish
