#!/bin/bash
# run.sh: records
# The flight recorder's triggers: each of them writes a file with its moment, and what is not one writes none.
. "$(dirname "$0")/../count.sh"
. tests/record/tracefs.sh
. tests/record/recording.sh
needs_to_record
cat >victim.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) void probed(void) { __asm__ volatile(""); }

__attribute__((noinline)) void slow(long ms)
{
    struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
    nanosleep(&time, NULL);
}

int main(void)
{
    char line[64];
    while (fgets(line, sizeof(line), stdin)) {
        long n = atol(line + 1);
        if (*line == 'p')
            probed();
        if (*line == 's')
            slow(n);
        if (*line == 'k' && !fork())
            return kill(getpid(), n);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
}
C
${CC:-cc} -O1 -g -o victim victim.c || { failed=1; finish; }

# until_whole FILE SECONDS
until_whole() {
    for ((tries = 0; tries < 20 * $2; tries++)); do
        "$stackreel" verify "$1" 2>/dev/null | grep -q ' whole: ' && return 0
        sleep 0.05
    done
    return 1
}

mkfifo lines
./victim <lines &
victim=$!
exec 7>lines
trap 'kill $victim ${recording:-} 2>/dev/null; rm -rf "$work"' EXIT
"$recorder" --overwrite 5s --after 100ms -F 99 --trigger "latency:$work/victim:slow>150ms" --trigger "uprobe:$work/victim:probed" \
    --trigger exit-signal --trigger "file:$work/touched" -p $victim -o f.reel 2>messages &
recording=$!
# A first file shows that it has begun.
for ((tries = 0; tries < 200; tries++)); do
    "$recorder" --dump $recording 2>err && break
    sleep 0.1
done
until_whole f.0001.reel 20
count $? "begun: $(head -n 2 messages)"
n=1

# pulls TRIGGER COMMAND...: it causes the next file
pulls() {
    local file trigger=$1
    shift
    "$@"
    n=$((n + 1))
    file=$(printf f.%04d.reel $n)
    until_whole "$file" 20 && "$stackreel" info "$file" | grep -qF "trigger: $trigger"
    count $? "$trigger: $("$stackreel" info "$file" 2>&1 | grep -F 'trigger: ' | xargs)"
}
ask() { echo "$1" >&7; }
pulls "latency:$work/victim:slow>150ms" ask s200
"$stackreel" script -q --no-host-files --fields event,ip,sym f.0002.reel >script
grep -q '^latency:' script && grep -q ' main$' script
count $? "the file has the slow call, when it returns to main"
pulls "uprobe:$work/victim:probed" ask p
pulls exit-signal ask k11
pulls "file:$work/touched" touch touched
for ((tries = 0; tries < 200; tries++)); do
    "$recorder" --status=json $recording >json 2>err && grep -qF "\"last_trigger\":\"file:$work/touched\"" json && break
    sleep 0.1
done
python3 -c 'import json, sys
status = json.load(open("json"))
assert status["last_trigger_file"] == sys.argv[1] and status["triggers"] == int(sys.argv[2]) and status["last_triggered"], status' "$(printf f.%04d.reel $n)" $n
count $? "--status=json: $(head -c 300 err)"
"$recorder" --status=prometheus $recording | grep -qF "stackreel_last_triggered{pid=\"$recording\",trigger=\"file:$work/touched\",file=\"$(printf f.%04d.reel $n)\"} "
count $? "--status=prometheus"
"$recorder" --status $recording | grep -qx "  last_trigger  *file:$work/touched"
count $? "--status"
"$stackreel" export -q --no-host-files --format firefox -o firefox.json f.0004.reel
python3 -c 'import json
profile = json.load(open("firefox.json"))
texts = [data.get("text") for thread in profile["threads"] for data in thread["markers"]["data"] if data]
assert "exit-signal" in texts, texts' 2>err
count $? "the Firefox profile has the mark: $(tail -n 1 err)"
ask s50
ask k18
touch untouched
sleep 0.5
[ "$(ls f.* | wc -l)" = $n ]
count $? "what is below its limit, or another file or signal, writes none: $(ls f.* | wc -l) files"
kill $recording
wait $recording
count $? "the recorder ends: $(tail -n 1 messages)"

# A wait, once it is over.
"$recorder" -q --overwrite 5s --after 100ms -F 99 --trigger 'off-cpu>400ms' -p $victim -o wait.reel 2>messages &
recording=$!
for ((tries = 0; tries < 20; tries++)); do
    sleep 0.5
    ask x
    [ -s wait.0001.reel ] && break
done
until_whole wait.0001.reel 20 && "$stackreel" info wait.0001.reel | grep -qF 'trigger: off-cpu>400ms'
count $? "a wait: $(head -n 2 messages)"
"$stackreel" script -q --no-host-files --fields period,event,ip,sym wait.0001.reel | awk '$2 == "off-cpu:" && $1 > 4e8 { found = 1 } END { exit !found }'
count $? "the file has the wait"
kill $recording
wait $recording

# The same of threads with one name: while every wait is recorded, another's writes no file.
"$recorder" -q --overwrite 5s --after 100ms -F 99 --trigger 'off-cpu:other>400ms' --trigger 'off-cpu:vic*>400ms' -p $victim -o comm.reel 2>messages &
recording=$!
for ((tries = 0; tries < 20; tries++)); do
    sleep 0.5
    ask x
    [ -s comm.0001.reel ] && break
done
until_whole comm.0001.reel 20 && "$stackreel" info comm.0001.reel >info && grep -qF 'trigger: off-cpu:vic*>400ms' info && ! grep -qF 'trigger: off-cpu:other' info
count $? "a wait of a thread with this name, and not of another: $(head -n 2 messages)"
kill $recording
wait $recording

# The host: busy for a second, and waiting for CPUs.
"$recorder" -q --overwrite 5s --after 100ms -F 99 --trigger 'cpu>1%:1s' -p $victim -o cpu.reel 2>messages &
recording=$!
"$busy" spin 8 &
spinner=$!
until_whole cpu.0001.reel 20
count $? "a busy host: $(head -n 2 messages)"
kill $recording $spinner
wait $recording $spinner 2>err
if "$recorder" -q --overwrite 5s --after 100ms -F 99 --trigger 'psi:cpu some 100ms/2s' -p $victim --duration 15s -o psi.reel 2>messages &
then
    recording=$!
    sleep 0.5
    if grep -q 'psi:cpu' messages; then
        skip "pressure: $(head -n 1 messages)"
    else
        for ((i = 0; i < 3 * $(nproc); i++)); do "$busy" spin 4 & done
        until_whole psi.0001.reel 20
        count $? "pressure: $(head -n 2 messages)"
        kill $recording
    fi
    wait $recording
fi
fails 2 'expected e.g. cpu>90%:10s' --overwrite 5s --trigger 'cpu>90' -p $victim
count $? "an invalid condition"
fails 2 '--trigger requires --overwrite' --trigger oom -p $victim
count $? "--trigger without --overwrite"
fails 1 'nonexistent' --overwrite 5s --trigger uprobe:/nonexistent:f -p $victim
count $? "a program that does not exist"
exec 7>&-
finish
