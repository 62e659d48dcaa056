#!/bin/bash
# Recording of JIT names: the names of sampled functions, for memory that held several functions, in a child, in a different root and PID
# namespace, and in each part of a rotated recording. Also the handling of invalid files and of files that must not be read.
# run.sh: records thorough
# checks: record/jit format/timeline
. "$(dirname "$0")/../count.sh"
check=$PWD/tests/jit/jit_names_check.py

[ -x "$recorder" ] || { skip "$recorder is not built"; finish; }
[ "$(uname -m)" = x86_64 ] || { skip "tests/programs/jit_names.c writes x86-64 code"; finish; }
[ "$(id -u)" = 0 ] || { skip "recording needs root"; finish; }
# The other root has no libraries.
"${CC:-cc}" -O1 -Wall -Werror -static -o "$work/jit" tests/programs/jit_names.c || { failed=1; finish; }
! command -v javac >/dev/null || javac -d "$work" tests/programs/Phases.java || failed=1
cd "$work" || exit

# record NAME OPTION... -- COMMAND...
record() {
    local name=$1
    shift
    timeout 120 "$recorder" -o "$name.reel" "$@" >"$name.txt" 2>err
    count $? "$name: recorded"
}

# named NAME OPTION...
named() {
    ok "$1: names" python3 -B "$check" "${@:2}" "$1.txt" "$stackreel" "$1"*.reel
}

# no_loss NAME
no_loss() {
    [ "$("$stackreel" dump "$1.reel" | grep -c 'LOSS.*cause=12')" = 0 ]
    count $? "$1: nothing skipped"
}

# A perf map has no times. Lines appended since the last read replace earlier functions at the same address.
record map -- ./jit map reuse 1400
named map
no_loss map
record dump -- ./jit dump reuse 300
named dump
no_loss dump
record moved -- ./jit dump move 300
named moved
no_loss moved
record times -- ./jit times reuse 1400
named times
record anew -- ./jit anew reuse 1400
named anew
# A perf map's first reading comes a tenth of a second after the first sample, before "third" exists. If a busy machine delays it, the
# names of code that was replaced by then are lost: "third" has a time only if there was a reading before it (SPEC.md, JIT_SYMBOL).
for _ in {1..20}; do
    "$recorder" -o short.reel -- ./jit map reuse 60 >short.txt 2>err || break
    ! "$stackreel" dump short.reel | grep -q ' JIT_SYMBOL time=[0-9]\{6,\} .*name="third"' || break
done
ok "short: a reading before the code was replaced" bash -c "'$stackreel' dump short.reel | grep ' JIT_SYMBOL time=[0-9]\{6,\} .*name=\"third\"'"
named short --some
record map-child -- ./jit map fork 400
named map-child
record dump-child -- ./jit dump fork 400
named dump-child
record parts --rotate 2s -- ./jit map reuse 2100
named parts --some

mkdir -p root/tmp
cp jit root
record elsewhere -- unshare -pf chroot root /jit map reuse 1400
named elsewhere
record dump-elsewhere -- unshare -pf chroot root /jit dump reuse 300
named dump-elsewhere

./jit map reuse 1400 >attached.txt &
timeout 60 "$recorder" -q -o attached.reel -p $! 2>err
count $? "attached: recorded"
wait
named attached --some

record without --no-jit-names -- ./jit map reuse 200
named without --without --some
record code --jit-code=no -- ./jit map reuse 200
ok "--jit-code=no keeps names" bash -c "'$stackreel' dump code.reel | grep ' JIT_SYMBOL .*name=\"first\"'"
[ "$("$stackreel" dump code.reel | grep -c ' CODE ')" = 0 ]
count $? "--jit-code=no keeps no code"

# A file that is not a regular file of the process's user gives no names, and is counted once.
for file in none fifo link folder owner magic record; do
    record "bad-$file" -- ./jit $file reuse 200
    named "bad-$file" --without --some
    [ $file = none ] || has err ' 1 name of JIT or Python code left out'
done
# A file of an earlier process with the same number.
record stale -- ./jit stale reuse 200
ok "stale: no names" bash -c "! '$stackreel' dump stale.reel | grep JIT_SYMBOL"
# A link out of the other root.
rmdir root/tmp
ln -s /tmp root/tmp
record linked -- unshare -pf chroot root /jit none reuse 200
named linked --without --some
# Reading huge files of garbage and many names at once finishes in time, and names after them are found.
record endless -- ./jit endless reuse 200
has err ' 1 name of JIT or Python code left out'
ok "endless: what follows has names" bash -c "'$stackreel' dump endless.reel | grep ' JIT_SYMBOL .*name=\"third\"'"
record sparse -- ./jit sparse reuse 200
# Its own, and both files if the answer took too long.
has err ' [123] names? of JIT or Python code left out'
record many -- ./jit map many 1000
ok "many: names" bash -c "'$stackreel' dump many.reel | grep ' JIT_SYMBOL .*name=\"many '"
record many-dump -- ./jit dump many 1000
ok "many-dump: names" bash -c "'$stackreel' dump many-dump.reel | grep ' JIT_SYMBOL .*name=\"many '"

# A JVM is asked for its perf map before the recording and at its end. Code compiled in between has names from the start.
jvm() {
    local pid early all late nameless
    mkfifo java.in
    java -cp "$work" Phases <java.in >java.out 2>&1 &
    pid=$!
    exec 7>java.in
    for _ in $(seq 200); do grep -q early java.out && break; sleep 0.05; done
    sleep 0.5
    # The recorder sends the request.
    timeout 60 "$recorder" -F 199 --java-perfmap -o asked.reel -p $pid -- sleep 1 2>err
    count $? "--java-perfmap"
    ! grep -q java-perfmap err
    count $? "--java-perfmap: $(cat err)"
    # A busy machine takes samples from both.
    "$stackreel" script -q --no-host-files asked.reel | awk 'BEGIN { RS = "" } /Phases::early|Phases\.early/ { early++ } END { print early + 0, NR }' >named
    read -r early all <named
    [ "$early" -gt 10 ] && [ "$early" -gt $((all / 2)) ]
    count $? "--java-perfmap: samples with names of compiled code, of all: $(cat named)"
    rm -f "/tmp/perf-$pid.map"
    jcmd $pid Compiler.perfmap >jcmd.txt 2>&1 && timeout 60 "$recorder" -q -F 199 -o jvm.reel -p $pid -- \
        sh -c "sleep 0.5; echo >&7; sleep 1.5; jcmd $pid Compiler.perfmap" >>jcmd.txt 2>err
    count $? "jvm: record: $(tail -n 1 jcmd.txt)"
    exec 7>&-
    wait $pid
    rm -f "/tmp/perf-$pid.map"
    "$stackreel" script -q --no-host-files jvm.reel | awk 'BEGIN { RS = "" } /Phases::early|Phases\.early/ { early++ } /Phases::late|Phases\.late/ { late++ }
        /^[^\n]*\n[^\n]*\[unknown\] \(\/\/anon\)/ { nameless++ } END { print early + 0, late + 0, nameless + 0 }' >named
    read -r early late nameless <named
    [ "$early" -gt 2 ] && [ "$late" -gt 30 ] && [ "$nameless" -lt $((late / 10)) ]
    count $? "jvm: samples of early, of late, and unnamed: $(cat named)"
}
if command -v java >/dev/null && command -v jcmd >/dev/null && java -version 2>&1 | grep -qE '"(1[7-9]|[2-9][0-9])' && [ -e "$work/Phases.class" ]; then
    jvm
else
    skip "jvm: no JDK 17 (openjdk-17-jdk-headless)"
fi
finish
