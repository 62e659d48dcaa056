#!/bin/bash
# --java-perfmap with processes of other users that pose as JVMs (tests/programs/fake_jvm.c). Root creates no file for them, sends them no
# signal that would kill them, and still asks a real JVM.
# run.sh: records thorough
# checks: record/jit
. "$(dirname "$0")/../count.sh"
. tests/record/recording.sh
needs_to_record
case $(uname -m) in x86_64 | aarch64) ;; *) skip "fake_jvm.c has no code for this CPU"; finish ;; esac
command -v setpriv >/dev/null || { skip "setpriv is missing"; finish; }
"${CC:-cc}" -O2 -o fake_jvm "$tests/programs/fake_jvm.c" || { failed=1; finish; }
mkdir rooted
head -c 4096 /dev/zero >libjvm.so
chmod 755 libjvm.so rooted
declare -A pids
pids=()
modes=(silent deaf uncaught data)
trap 'kill -9 "${pids[@]}" 2>/dev/null; for pid in "${pids[@]}"; do rm -f /tmp/.java_pid$pid /tmp/.attach_pid$pid; done; rm -rf "$work"' EXIT
for mode in "${modes[@]}"; do
    (cd rooted && exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all ../fake_jvm "$mode" ../libjvm.so) >"$mode.out" &
    pids[$mode]=$!
    disown
done
for mode in "${modes[@]}"; do
    for _ in $(seq 100); do grep -q ready "$mode.out" && break; sleep 0.05; done
done

java_class=
if command -v javac >/dev/null && java -version 2>&1 | grep -qE '"(1[7-9]|[2-9][0-9])' && javac -d . "$tests/programs/Phases.java" 2>err; then
    mkfifo java.in
    chmod 644 ./*.class
    # The second compiler leaves a loop that has not ended yet without a return, so that no trace would reach the JVM.
    setpriv --reuid=65533 --regid=65533 --clear-groups --inh-caps=-all java -XX:TieredStopAtLevel=1 -cp "$work" Phases <java.in >java.out 2>&1 &
    pids[java]=$!
    disown
    exec 7>java.in
    for _ in $(seq 200); do grep -q early java.out && break; sleep 0.05; done
    java_class=Phases
else
    skip "a real JVM: no JDK 17 or newer"
fi

sleep 1
# None of this one's traces reaches its libjvm.so.
for mode in deaf ${java_class:+java}; do
    record -p "${pids[$mode]}" -F 199 --duration 1 -o plain.reel
    count $? "$mode: record without names"
    "$stackreel" report --stdio plain.reel >out 2>err
    has out '^# .* of the frames have no name .*for Java.s, record with --java-perfmap$'
done
before=$(date +%s)
record -a -F 199 --java-perfmap --duration 2 -o a.reel
count $? "record"
[ $(($(date +%s) - before)) -lt 30 ]
count $? "a process that never answers delays the end by a few seconds at most"
for mode in "${modes[@]}"; do
    kill -0 "${pids[$mode]}"
    count $? "$mode: still runs"
done
for mode in uncaught data; do
    ! grep -q SIGQUIT "$mode.out"
    count $? "$mode: receives no request"
done
! grep -q "process ${pids[data]}:" err
count $? "data: not treated as a JVM"
has err "process ${pids[uncaught]}: does not handle SIGQUIT"
# Shows that the following checks can fail.
grep -q SIGQUIT deaf.out
count $? "deaf: receives a request"
has err "process ${pids[silent]}: " "process ${pids[deaf]}: does not listen"
[ -z "$(ls -A rooted)" ]
count $? "no files in their working folders: $(ls -A rooted)"
[ ! -e "/tmp/.attach_pid${pids[deaf]}" ]
count $? "no files remain in /tmp"

if [ -n "$java_class" ]; then
    ! grep -q "process ${pids[java]}:" err
    count $? "a real JVM: $(cat err)"
    [ "$("$stackreel" script -q --no-host-files --pid=${pids[java]} a.reel 2>/dev/null | grep -cE 'Phases(::|\.)early')" -gt 20 ]
    count $? "a real JVM: names of its code"
    rm -f "/tmp/perf-${pids[java]}.map"
fi
finish
