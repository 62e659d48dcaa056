#!/bin/bash
# The remaining privileges of a running recorder's threads, from /proc/PID/task/*/status, and that it still records.
# tests/unit/record/host/test_privileges.c tries forbidden operations. The recorded command keeps its original privileges.
# run.sh: records
. "$(dirname "$0")/../count.sh"
check=$PWD/tests/record/record_check.py
chmod 755 "$work"
[ -x "$recorder" ] || { skip "$recorder is not built"; finish; }
[ "$(id -u)" = 0 ] || { skip "not root"; finish; }
${CC:-cc} -O2 -g -pthread -o "$work/busy" tests/programs/busy.c || exit
cd "$work" || exit 1
"$recorder" -q -o probe.reel -- true 2>err
[ -s probe.reel ] || { skip "recording: $(head -n 1 err)"; finish; }

# start ARGUMENT...: starts recording ./command, until `end`. The command reports its process id, and exits when told to.
cat >command <<'COMMAND'
cat /proc/self/status >command.status
./busy spin 0.2
echo $$ >command.pid
while ! [ -e end ]; do ./busy spin 0.1; done
COMMAND
start() {
    rm -f end command.pid command.status
    "$@" -- sh ./command 2>err &
    recording=$!
    for _ in $(seq 1200); do
        [ -s command.pid ] && break
        sleep 0.05
    done
}
end() {
    : >end
    wait $recording
}

# sets DIRECTORY: one line per thread, with its role in the recorder: capabilities (effective, permitted, bounding, ambient), no_new_privs,
# seccomp
sets() {
    local task
    for task in "/proc/$1"/task/*; do
        printf '%s %s\n' "$([ "${task##*/}" = "$1" ] && echo main || echo writer)" "$(sed -nE \
            's/^(CapInh|CapEff|CapPrm|CapBnd|CapAmb|NoNewPrivs|Seccomp):\s*/\1=/p' "$task/status" | xargs)"
    done
}
# has THREAD NAME HEX: the thread's set has exactly these capabilities, except SYS_ADMIN, which Debian's kernels require for events.
has() {
    local is
    is=$(sed -nE "s/^$1 .*$2=([0-9a-f]+).*/\1/p" sets)
    [ -n "$is" ] && [ $((0x$is & ~(1 << 21))) = $((0x$3)) ]
}
# PERFMON, BPF, IPC_LOCK, SYSLOG
main=$(printf %x $((1 << 38 | 1 << 39 | 1 << 14 | 1 << 34)))
# The helper that reads other processes: SYS_PTRACE, DAC_READ_SEARCH, CHECKPOINT_RESTORE
reader=$(printf %x $((1 << 19 | 1 << 2 | 1 << 40)))
with_command=$(printf %x $((0x$main | 1 << 5)))

start "$recorder" -g --rotate 300ms -o a.reel
sets $recording >sets
cat sets
grep -cE 'NoNewPrivs=1 Seccomp=2' sets | grep -qx 2
count $? "no_new_privs and seccomp, in both threads"
for name in CapInh CapBnd CapAmb; do
    ok "main: $name is empty" has main $name 0
    ok "writer: $name is empty" has writer $name 0
done
ok "main: effective" has main CapEff "$with_command"
ok "main: permitted" has main CapPrm "$with_command"
grep -qE '^writer .*CapPrm=0+ CapEff=0+ ' sets
count $? "writer: no capabilities"
# children NAME: helpers with this name, of the two processes that start helpers
children() {
    local parent
    for parent in $(pgrep -x -P $recording reel-inspector); do pgrep -x -P "$parent" "$1"; done
}
helper=$(children reel-inspector)
sets "$helper" | sed 's/^[^ ]*/helper/' >>sets
# The imager makes images of given files (--embed), and has a request soon. It ends with its part, perhaps during these reads.
for _ in $(seq 1200); do
    imager=$(children reel-imager | tail -n 1)
    [ -z "$imager" ] || { sets "$imager" | sed 's/^[^ ]*/imager/' >imager && cat "/proc/$imager/limits" >limits; } 2>/dev/null && grep -q Seccomp=2 imager && break
    sleep 0.05
done
cat imager >>sets
grep -qE '^imager .*CapPrm=0+ CapEff=0+ CapBnd=0+ .*NoNewPrivs=1 Seccomp=2' sets
count $? "imager: no capabilities, and confined"
# limited FILE REGEX...: a line of a process's limits matches each, in the format of soft and hard limits
limited() {
    local limit
    for limit in "${@:2}"; do grep -qE "^Max $limit" "$1" || return 1; done
}
limits=('core file size +0 +0' 'file size +0 +0' 'open files +[0-9]{1,4} +[0-9]{1,4}' 'cpu time +[0-9]+ +[0-9]+')
# A sanitizer's shadow memory needs the whole address space.
nm -D "$recorder" 2>&1 | grep -q '__[at]san_init' || limits+=('address space +[0-9]+ +[0-9]+')
ok "helper: resource limits" limited "/proc/$helper/limits" "${limits[@]}"
ok "imager: resource limits" limited limits "${limits[@]}"
ok "helper: effective" has helper CapEff "$reader"
ok "helper: permitted" has helper CapPrm "$reader"
grep -qE '^helper .*CapBnd=0+ .*NoNewPrivs=1 Seccomp=2' sets
count $? "helper: confined"
# The two that start these keep no other rights.
for parent in $(pgrep -x -P $recording reel-inspector); do sets "$parent"; done >spawners
printf -v both '%s\n' 0000000000000000 "$(printf %016x $((0x$reader)))"
[ "$(sed -nE 's/.*CapPrm=([0-9a-f]+) CapEff=\1 CapBnd=0+ .*NoNewPrivs=1 Seccomp=2$/\1/p' spawners | sort)" = "${both%?}" ]
count $? "spawners: confined: $(cat spawners)"
# In the background, like the recorder, since a shell ignores SIGINT and SIGQUIT there.
grep -E '^(Cap|NoNewPrivs|Seccomp|SigBlk|SigIgn)' /proc/self/status >wanted &
wait $!
grep -E '^(Cap|NoNewPrivs|Seccomp|SigBlk|SigIgn)' command.status | diff wanted - >out
count $? "the command has all privileges of this shell: $(cat out)"
for _ in $(seq 1200); do
    [ -e a.0002.reel ] && break
    sleep 0.05
done
end
count $? "it records"
ok "part $(ls a.*.reel | tail -n 1) after rotation, programs started meanwhile, kernel symbols" \
    "$check" "$(ls a.*.reel | tail -n 2 | head -n 1)" complete placed comm=busy

# In another user's folder root needs more privileges to create the next part.
mkdir theirs && chown 65534 theirs
start "$recorder" --rotate 300ms -o theirs/a.reel
sets $recording >sets
ok "another user's folder: keeps CAP_DAC_OVERRIDE" has main CapEff "$(printf %x $((0x$with_command | 1 << 1)))"
for _ in $(seq 1200); do
    [ -e theirs/a.0002.reel ] && break
    sleep 0.05
done
end
[ "$(ls theirs/a.*.reel | wc -l)" -ge 2 ] && [ "$(stat -c %u theirs/a.0002.reel)" = 0 ]
count $? "another user's folder: parts owned by root"

# The command changed its user, and must still be told to end.
"$recorder" -q --duration 0.5 -o b.reel -- setpriv --reuid=65534 --regid=65534 --clear-groups sleep 30 2>err
[ $? = 0 ]
count $? "--duration ends a command that changed its user"

start "$recorder" --no-sandbox -o c.reel
sets $recording >sets
grep -c 'NoNewPrivs=0 Seccomp=0' sets | grep -qx 2
count $? "--no-sandbox: drops nothing"
end

cp "$recorder" recorder && chmod 755 recorder busy
if setcap cap_bpf,cap_perfmon+ep recorder 2>/dev/null; then
    mkdir -m 777 open
    (cd open && cp ../command ../busy . && start setpriv --reuid=65534 --regid=65534 --clear-groups ../recorder -o u.reel &&
        sets $recording >../sets && end)
    ok "CAP_BPF and CAP_PERFMON on the file, not root" "$check" open/u.reel complete comm=busy
    # Debian's kernels deny this with or without the capabilities.
    has main CapEff "$(printf %x $((1 << 38 | 1 << 39)))" && has writer CapEff 0 && has main CapInh 0 && [ "$(grep -c 'NoNewPrivs=1 Seccomp=2' sets)" = 2 ]
    count $? "... has no other capabilities"
    (cd open && setpriv --reuid=65534 --regid=65534 --clear-groups ../recorder -a --duration 0.3 -o a.reel 2>../err)
    grep -q "without CAP_SYS_PTRACE, mappings of other users' processes cannot be read" err
    count $? "... says that it cannot read other users' processes: $(cat err)"
    "$stackreel" report open/a.reel >report 2>/dev/null
    grep -q "^# note: without CAP_SYS_PTRACE, mappings of other users' processes cannot be read" report
    count $? "... and so do reports: $(head -n 12 report)"
    (cd open && setpriv --reuid=65534 --regid=65534 --clear-groups ../recorder -o b.reel -- true 2>../err)
    ! grep CAP_SYS_PTRACE err
    count $? "... but not if it records its own"
else
    skip "file capabilities: setcap failed"
fi
finish
