#!/bin/bash
# stackreel-record as a user runs it: every option, short-lived processes, namespaces, errors.
# Inspects files with the independent reader (record_check.py). Needs root and BPF.
# run.sh: records
# shellcheck disable=SC2012,SC2016,SC2181,SC2317
. "$(dirname "$0")/../count.sh"
. tests/record/recording.sh

# ---- without privileges ----------------------------------------------------------

ok "help" bash -c "'$recorder' --help | grep -q -- --rotate"
ok "usage" bash -c "'$recorder' --usage | grep -q -- --max-stack"
ok "version" bash -c "'$recorder' --version | grep -qE '^stackreel-record [0-9]+\.[0-9]+'"
ok "no target" fails 2 'nothing to record'
ok "unknown option" fails 2 "unrecognized option" --bogus -- true
ok "bad frequency" fails 2 "invalid number '0'" -F 0 -- true
ok "bad period" fails 2 "invalid number 'x'" -c x -- true
ok "bad size" fails 2 "invalid size '12Q'" --max-stack 12Q -- true
ok "stack too large" fails 2 "'2M' is out of range \(4K to 1M\)" --max-stack 2M -- true
ok "ring too small" fails 2 "'1K' is out of range \(64K to 1G\)" --ring-size 1K -- true
ok "bad duration" fails 2 "invalid duration 'soon'" --duration soon -- true
ok "bad CPU list" fails 2 "invalid list '3-1'" -C 3-1 -- true
ok "bad pid" fails 2 "invalid list '1-3'" -p 1-3
ok "bad --kallsyms" fails 2 "invalid value 'some' \(expected needed, all or none\)" --kallsyms some -- true
ok "bad level" fails 2 "invalid number '20' .expected 1 to 19" -z 20 -- true
ok "rotation without a unit" fails 2 "missing unit in '10'" --rotate 10 -- true
ok "rotation to stdout" fails 2 "cannot be combined with -o -" --rotate 10s -o - -- true
ok "rare flushes" fails 2 "'1s' is out of range \(10ms to 500ms\)" --flush-interval 1s -- true
ok "-a with -p" fails 2 "-a cannot be combined with -p" -a -p 1
ok "-p with -t" fails 2 "cannot be combined" -p 1 -t 1
ok "-q with -v" fails 2 "-q and -v cannot be combined" -q -v -- true
# Options that perf users type.
ok "--call-graph lbr" fails 2 "--call-graph lbr: branch stacks are not recorded; use --call-graph dwarf" --call-graph lbr -- true
ok "--call-graph without a mode" fails 2 "unknown mode '--' \(expected dwarf or fp; -g takes no mode\)" --call-graph -- true
ok "-g dwarf" fails 2 "-g takes no mode; use --call-graph dwarf" -g dwarf -- true
ok "-g -- dwarf is a program" fails 127 "'dwarf': command not found" -g -- dwarf
ok "-b" fails 2 "-b: branch stacks are not recorded" -b -- true
ok "--all-user" fails 2 "--all-user: add :u to the event" --all-user -- true
ok "--switch-output" fails 2 "use --rotate" --switch-output=10s -- true
ok "-u" fails 2 "-u: recording by user is not supported" -u root -- true
ok "perf's options are not listed" bash -c "! '$recorder' --help | grep -qE -- '--(branch-any|mmap-pages|switch-output)'"
if command -v script >/dev/null; then
    ok "no capture to a terminal" bash -c "script -qec \"'$recorder' -o - -- true\" /dev/null | grep -q 'not writing a binary capture to a terminal'"
else
    skip "script(1) is not installed, to make a terminal"
fi
ok "no such command" fails 127 "command not found" -- "$work/nothing-there"
ok "no such command in PATH" fails 127 "command not found" -- nothing-there-at-all
ok "not executable" fails 126 "cannot execute '/etc/passwd'" -- /etc/passwd
ok "no such process" fails 1 "-p 4194300: no such process" -p 4194300
ok "no such thread" fails 1 "-t 4194300: no such thread" -t 4194300
ok "none of these wrote a file" bash -c "! ls '$work'/*.reel 2>/dev/null"
needs_to_record

# ---- options ---------------------------------------------------------------------------

record -o a.reel -- "$busy" spin 2 7
[ $? = 7 ]
count $? "exits with the command's status"
ok "a command's samples are placed" "$check" a.reel complete samples=200 placed reason=0 exit_status=1792 comm=busy \
    frequency=999 event=cpu-clock
ok "the summary" grep -qE '^[0-9,]+ samples, [0-9.]+ [kMG]?B \([0-9.]+ k?B/sample\), [0-9,]+ lost, [0-9,]+ stacks cut(, [0-9,]+ (with unreadable pages|times? throttled by the kernel))* -> a.reel$' err
[ "$(stat -c %a a.reel)" = 600 ]
count $? "others cannot read the capture"
for mode in dwarf dwarf,8192 fp; do
    record -o perf.reel --call-graph "$mode" -T -m 64 -- "$busy" spin 1 0
    [ $? = 0 ] && grep -q '^stackreel-record: note: -m: ignored: --ring-size' err
    count $? "--call-graph $mode, -T and -m are accepted"
    case $mode in
    dwarf) ! grep -q 'note: --call-graph' err ;;
    *) grep -q "note: --call-graph ${mode%,*}: " err ;;
    esac
    count $? "--call-graph $mode: notes"
done
record -q -o a.reel -- true
[ $? = 0 ] && [ ! -s err ] && [ -s a.reel.old ]
count $? "-q prints nothing, and the old file is kept"
ok "the kept file is unchanged" "$check" a.reel.old complete exit_status=1792
# shellcheck disable=SC2016
record -o b.reel -- sh -c 'kill -SEGV $$'
[ $? = 139 ]
count $? "reports the command's signal"
record -- true && [ -s stackreel.reel ]
count $? "the default file"
record -o b.reel "$busy" spin 0.3 -F 3
[ $? = 0 ]
count $? "does not interpret the command's own options"

record -o - -- "$busy" spin 0.5 | cat >pipe.reel
ok "-o - into a pipe" "$check" pipe.reel complete samples=20 placed
record -o - -- sh -c 'echo hello >&2' >out.reel
grep -q hello err
ok "-o - leaves standard error to the command" "$check" out.reel complete
record -o - -- sh -c 'echo hello' 2>err >out.reel
ok "-o -: the command's output goes to standard error" eval '"$check" out.reel complete && grep -qx hello err'
blocks() {
    "$stackreel" info "$1" | sed -n 's/^file size .* in \([0-9]*\) blocks.*/\1/p'
}
record --flush-interval=20ms -o - -- "$busy" spin 1 | cat >often.reel
record -o - -- "$busy" spin 1 | cat >seldom.reel
ok "--flush-interval" eval '"$check" often.reel complete samples=20 && [ "$(blocks often.reel)" -gt "$(($(blocks seldom.reel) + 20))" ]'
"$stackreel" top --stdio --count 1 --delay 3s -- "$busy" spin 4 >top.txt 2>err
ok "stackreel top with a command" grep -qE '^# [1-9][0-9,]* samples of cpu-clock' top.txt
ok "… with its functions" grep -qE ' spin .* busy$' top.txt
record -o - -- "$busy" spin 5 | true
[ "${PIPESTATUS[0]}" = 1 ] && grep -q 'Broken pipe' err
count $? "a closed pipe ends the recording"

record -F 99 -o b.reel -- "$busy" spin 2
ok "-F" "$check" b.reel complete frequency=99 samples=20
record -F max -o b.reel -- "$busy" spin 0.2
most=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
ok "-F max" "$check" b.reel complete frequency=$((most < 10000 ? most : 10000))
[ "$most" -le 10000 ] || grep -q -- '-F max: taking 10,000 samples per second' err
count $? "-F max reports the frequency"
ok "-F above the kernel's limit" fails 1 "exceeds this kernel's limit" -F 999999 -- true
record -c 5000000 -o b.reel -- "$busy" spin 1
ok "-c" "$check" b.reel complete frequency=0 period=5000000 samples=20
limit=/proc/sys/kernel/perf_event_max_sample_rate
rate=$(cat $limit)
if [ -w $limit ] && [ "$rate" -ge 20000 ]; then
    # The kernel's limit applies per clock tick, so ten times as many samples exceed it.
    echo 10000 >$limit
    record -c 10000 -o b.reel -- "$busy" spin 1
    echo "$rate" >$limit
    ok "a throttled event" "$check" b.reel complete samples=20
    grep -qE ', [0-9,]+ times throttled by the kernel' err &&
        python3 "$OLDPWD/tests/reader/reel_reader.py" b.reel | grep '"LOSS"' | grep -q '"cause": 7'
    count $? "... is counted"
else
    skip "throttled events: $limit cannot be lowered"
fi
record -e page-faults -c 1 -o b.reel -- ls / >out
ok "-e page-faults" "$check" b.reel complete event=page-faults samples=20
record -e task-clock,context-switches -o b.reel -- "$busy" spin 0.3
ok "-e with two events" "$check" b.reel complete event=task-clock samples=20
# Other processes have a million page faults for each of the target's: samples of a per-CPU event would be theirs.
others=
for _ in $(seq "$(nproc)"); do
    "$busy" faults 1000000000 64 &
    others="$others $!"
done
mkfifo go
for i in 1 2 3 4; do
    # Some of the first page faults are sampled: the kernel starts with a period of 1 (perf_event_alloc).
    sh -c 'read -r line <go; exec ls' >out &
    target=$!
    record -e page-faults -F 99 -p $target -o few-$i.reel -- sh -c 'echo >go; exec sleep 60'
done
record -e page-faults -F 999 -o command.reel -- "$busy" faults 1000000 64
other=${others##* }
sh -c 'read -r line <go; exec ls' >out &
target=$!
record -e page-faults -F 99 -t $target -o thread.reel -- sh -c 'echo >go; exec sleep 60'
record -e page-faults -F 999 -C 0 -p $other --duration 0.3 -o cpu.reel
# shellcheck disable=SC2086
kill $others
# shellcheck disable=SC2086
wait $others 2>/dev/null
for i in 1 2 3 4; do
    ok "page faults with a frequency are the target's own: $i" "$check" few-$i.reel complete samples=1 frequency=99
done
ok "-e page-faults -F of a command" "$check" command.reel complete samples=10
ok "-e page-faults -F with -t" "$check" thread.reel complete samples=1 tids=$target
ok "-e page-faults -F with -C" "$check" cpu.reel complete cpus=0
# The long list of events is a line of its own.
unknown_event() {
    local lines
    record -e no-such-event -- true </dev/null
    [ $? = 1 ] || return
    mapfile -t lines <err
    [ "${lines[0]}" = "stackreel-record: -e no-such-event: unknown event" ] && [[ ${lines[1]} = "expected cpu-clock, task-clock, "* ]] && [ ${#lines[@]} = 2 ]
}
ok "-e unknown" unknown_event
record -g -o b.reel -- "$busy" kernel 1
ok "-g" "$check" b.reel complete kernel samples=50
# names FILE: its kernel symbols, one per line.
names() { python3 "$OLDPWD/tests/reader/reel_reader.py" "$1" | grep '"KERNEL_SYMBOL"'; }
names b.reel | grep -q '"_text"'
count $? "-g: the kernel's location"
[ "$(names b.reel | wc -l)" -lt 5000 ]
count $? "-g: only names of functions in chains"
record -g --kallsyms none -o none.reel -- "$busy" kernel 0.3
[ "$(names none.reel | wc -l)" = 0 ]
ok "--kallsyms none" "$check" none.reel complete
# A second recorder loads and unloads BPF programs meanwhile; the first one's programs existed before.
record --kallsyms all -o all.reel -- "$recorder" -q -o other.reel -- "$busy" spin 0.3
ok "--kallsyms all" "$check" all.reel complete
names all.reel >all.names
[ "$(wc -l <all.names)" -gt 20000 ]
count $? "--kallsyms all: all symbols"
grep -q '"name": "bpf_prog_[0-9a-f]*_reel_[a-z_]*", "since": [1-9]' all.names
count $? "a BPF program loaded later has a name from then on"
grep -q '"name": "", "since": [1-9]' all.names
count $? "an unloaded BPF program no longer has a name"
record --max-stack 8K -o b.reel -- "$busy" noise 65536 0.5
ok "--max-stack" "$check" b.reel complete max_region=6144 field=max_stack:8192
grep -qE '[1-9][0-9]* stacks cut' err
count $? "counts cut stacks"
# Few samples, since the checks read all bytes.
record -F 199 --max-stack 1M -o b.reel -- "$busy" noise 900000 0.5
ok "--max-stack 1M" "$check" b.reel complete field=max_stack:1048576 placed
# A frame larger than the recorded part of the stack: its return address is recorded separately.
record -F 199 --max-stack 256K -o b.reel -- "$busy" noise 900000 0.5
ok "a frame larger than --max-stack" "$check" b.reel complete max_region=245760 placed
grep -qE '[1-9][0-9]* stacks cut' err && "$stackreel" report --min-complete 90 b.reel >report && ! grep '^# lost:.*stack cut' report
count $? "... has its callers, and no loss is reported"
record --ring-size 1M --rings 2 -o b.reel -- "$busy" threads 3 0.5
ok "--ring-size, --rings" "$check" b.reel complete field=rings:2 samples=50 threads=4 placed
if [ -r /sys/kernel/btf/vmlinux ]; then
    cp /sys/kernel/btf/vmlinux vmlinux.btf
    record --btf vmlinux.btf -o b.reel -- "$busy" spin 0.3
    ok "--btf" "$check" b.reel complete samples=20
else
    skip "--btf: this kernel has no BTF"
fi
record --build-id-events -o events.reel -- "$busy" spin 0.3
ok "--build-id-events" "$check" events.reel complete samples=20
record --build-id-events --no-build-id-events -o events.reel -- "$busy" spin 0.3
ok "--no-build-id-events" "$check" events.reel complete samples=20
python3 "$OLDPWD/tests/reader/reel_reader.py" events.reel | grep '"MODULE"' | grep -F "$busy" | grep -qE '"build_id": "[0-9a-f]{40}"'
count $? "reads the program's build-id from its file"
# Linux marks perf's own mappings if any recorder requests build-ids (perf_event_mmap_output).
if perf record -q -B -e cpu-clock -o perf.data -- true 2>"$work/err" && "$OLDPWD/tests/record/marked_mappings.py" perf.data >"$work/err"; then
    "$recorder" -q -a --duration 5 -o beside.reel 2>"$work/err" &
    beside=$!
    sleep 1
    # Without -B, perf 6.1 reads the files with marked mappings for their build-id, and aborts (util/build-id.c).
    perf record -q -e cpu-clock -o perf.data -- true 2>"$work/err"
    count $? "perf record works alongside the recorder"
    perf record -q -B -e cpu-clock -o perf.data -- true 2>"$work/err"
    "$OLDPWD/tests/record/marked_mappings.py" perf.data >"$work/err"
    count $? "does not mark perf's mappings"
    wait $beside
else
    skip "perf alongside the recorder: perf cannot record here, or another program marks its mappings"
fi
ok "--btf with a missing file" fails 1 "nothing.btf" --btf nothing.btf -- true

# Kernels without BPF or BTF, and containers that forbid BPF.
cat >no_bpf.c <<'C'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | atoi(argv[1])),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){ 4, code }) || execv(argv[2], argv + 2);
}
C
${CC:-cc} -o no_bpf no_bpf.c || failed=1
# refuses MESSAGE COMMAND...
refuses() {
    local message=$1
    shift
    ! "$@" "$recorder" -o refused.reel -- true 2>err && [ ! -e refused.reel ] && [ "$(wc -l <err)" = 1 ] && grep -q "$message" err
    count $? "refuses: $message: $(head -n 1 err)"
}
refuses 'has no BPF (CONFIG_BPF_SYSCALL)' ./no_bpf 38
refuses 'not permitted, despite the required capabilities; in a container, its seccomp profile' ./no_bpf 1
# shellcheck disable=SC2016
refuses 'this kernel has no BTF' unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$@"' sh
record -z 1 -o fast.reel -- "$busy" noise 4096 0.5
record -z 19 -o small.reel -- "$busy" noise 4096 0.5
ok "-z 1" "$check" fast.reel complete
ok "-z 19" "$check" small.reel complete
record -v -o b.reel -- true
ok "-v" "$check" b.reel complete

sh -c "'$busy' spin 60 & echo \$! >child; wait" &
parent=$!
until [ -s child ]; do sleep 0.1; done
child=$(cat child)
record -p $parent --duration 0.5 -o p.reel
ok "-p does not record existing children" "$check" p.reel complete
grep -q '1 existing child not recorded; use --children' err
count $? "... and prints a note"
record --children -p $parent -o p.reel -- "$until_cpu" "$child" 0.5
ok "--children" "$check" p.reel complete placed samples=20 pids="$child"
! grep -q 'existing child' err
count $? "... without a note"
record --children -e page-faults -F 999 -p $parent -o p.reel -- sleep 0.3
ok "--children with page faults" "$check" p.reel complete
kill "$child" $parent
ok "--children without -p" fails 2 "--children requires -p" --children -- true
# A process is called by its main thread's name, though another thread has all samples.
python3 -c 'import threading
def work():
    with open("/proc/thread-self/comm", "w") as file:
        file.write("worker-1")
    while True:
        pass
print("ready" if threading.Thread(target=work).start() is None else "", flush=True)' >ready &
target=$!
until [ -s ready ] && grep -qx worker-1 /proc/$target/task/*/comm; do sleep 0.1; done
record -q -p $target -o p.reel -- "$until_cpu" $target 0.5
kill $target
"$stackreel" cut -q -o c.reel --tid "$("$stackreel" export --format=ndjson p.reel | sed -nE '$s/.*"tid":([0-9]+).*/\1/p')" p.reel
for file in p.reel c.reel; do
    ok "$file: the process's name" bash -c '"$1" report -q --by process "$2" | grep -qE "  python3[^ ]* \($3\)$"' - "$stackreel" $file $target
    ok "$file: the thread's name" bash -c '"$1" report -q --by thread "$2" | grep -qE "  worker-1 \("' - "$stackreel" $file
done
"$busy" threads 1 600 &
target=$!
until [ "$(ls /proc/$target/task | wc -l)" = 2 ]; do sleep 0.02; done
tid=$(ls /proc/$target/task | tail -n 1)
record -p $target --duration 2000ms -o duration.reel
record -p $target -o p.reel -- "$until_cpu" $target 0.5
record -t "$tid" -o t.reel -- "$until_cpu" $target 0.5
record -C 0 -p $target --duration 0.5 -o c.reel
# Once it has a helper, it has checked that the processes exist, and waits for the FIFO's reader.
mkfifo fifo
sleep 60 &
gone=$!
"$recorder" -p $gone,$target --duration 2 -o fifo 2>err &
recording=$!
until pgrep -P $recording >/dev/null || ! kill -0 $recording; do sleep 0.02; done
kill $gone
wait $gone 2>/dev/null
cat fifo >g.reel &
reading=$!
wait $recording
[ $? = 0 ] && wait $reading && [ "$(grep -c "^stackreel-record: -p $gone: ended before the recording began$" err)" = 1 ]
count $? "-p with a process that ends while the recorder starts"
record -a --duration 1 -o all.reel
# Its threads would take the CPUs from the checks.
kill $target
wait $target 2>/dev/null
ok "-p, --duration" "$check" duration.reel complete placed=100 samples=2 reason=2 pids=$target threads=2
ok "-p with a command that sets the duration" "$check" p.reel complete placed=100 samples=300 reason=0 pids=$target
ok "-t" "$check" t.reel complete placed=100 samples=50 tids="$tid"
ok "-C" "$check" c.reel complete cpus=0
ok "-p with such a process records the others" "$check" g.reel complete samples=1 reason=2 pids=$target
ok "-a" "$check" all.reel complete placed=90 samples=100 comm=busy
"$busy" threads 1 3 &
target=$!
record -p $target -o p.reel
ok "the recording ends with the target" "$check" p.reel complete reason=3 pids=$target
wait $target

"$recorder" -o i.reel -- "$busy" spin 20 2>err &
recording=$!
until target=$(pgrep -f "^$busy spin 20"); do sleep 0.05; done
"$until_cpu" "$target" 0.5
kill -INT $recording
wait $recording
[ $? = 143 ] && ! pgrep -f "^$busy spin 20" >/dev/null
count $? "SIGINT ends the recording and the command"
ok "... and the file states the reason" "$check" i.reel complete reason=1 samples=50
record --duration 0.5 -o d.reel -- "$busy" spin 20
[ $? = 0 ]
count $? "--duration ends the command"
ok "... and the file states the reason" "$check" d.reel complete reason=2

cgroup=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
if [ -n "$cgroup" ] && mkdir "$cgroup/stackreel-test-$$" 2>/dev/null; then
    # shellcheck disable=SC2016
    sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" threads 1 600' sh "$cgroup/stackreel-test-$$" "$busy" &
    target=$!
    record -G stackreel-test-$$ -o g.reel -- "$until_cpu" $target 0.3
    ok "-G" "$check" g.reel complete samples=20 placed pids=$target
    kill $target
    wait $target 2>/dev/null
    rmdir "$cgroup/stackreel-test-$$"
else
    skip "-G: cannot create a cgroup v2"
fi
ok "-G unknown" fails 1 "no such cgroup" -G nothing/there

# ---- processes ---------------------------------------------------------------------------

${CC:-cc} -O2 -g -o spawn_many "$tests/programs/spawn_many.c"
count $? "build a program that starts many processes"
for how in exec spawn fork; do
    record -o many.reel -- ./spawn_many 700 $how >pids
    # Samples within execve have the registers of the old program and the memory of the new one.
    ok "700 processes of 1 ms: $how" "$check" many.reel complete placed=90 \
        "$([ $how = fork ] && echo processes || echo execs)=pids"
done
record -a -o many.reel -- ./spawn_many 500 exec >pids
ok "500 processes of 1 ms, with -a" "$check" many.reel complete execs=pids
record -o x.reel -- "$busy" exec 20 0.03
ok "a chain of execs" "$check" x.reel complete placed=95 samples=20
record -o x.reel -- "$busy" thread-exec 1
ok "an exec by another thread" "$check" x.reel complete placed=95 samples=20
record -o x.reel -- "$busy" reuse 5 0.1
ok "a reused pid" "$check" x.reel complete placed reused
record -o x.reel -- "$busy" remap
ok "a mapping that replaces another" "$check" x.reel complete
ok "... is recorded as such" "$check" x.reel unmapped
if runs_i386; then
    printf '.globl _start\n_start: mov $1500000000, %%ecx\n1: dec %%ecx\njnz 1b\nmov $1, %%eax\nint $0x80\n' >spin32.s
    ${CC:-cc} -m32 -nostdlib -static -o spin32 spin32.s
    record -o x.reel -- ./spin32
    ok "a 32-bit program" "$check" x.reel complete placed bits=32 samples=50
else
    skip "a 32-bit program: the kernel cannot execute it, or no compiler can build it"
fi
if unshare -pf --mount-proc true 2>/dev/null; then
    unshare -pf --mount-proc "$recorder" -o n.reel -- "$busy" threads 1 0.5 2>err
    ok "recorder inside a PID namespace" "$check" n.reel complete placed=95 samples=20 threads=2
    record -o n.reel -- unshare -pf --mount-proc "$busy" threads 1 0.5
    ok "command in a PID namespace" "$check" n.reel complete placed=95 samples=20 namespaced
    unshare -pf "$recorder" -v -o n.reel -- "$busy" spin 0.5 2>err
    ok "PID namespace without its own /proc" "$check" n.reel complete placed=95 samples=20
else
    skip "PID namespaces: unshare failed"
fi
cp "$busy" deleted && { ./deleted spin 600 & target=$!; }
until [ "$(readlink /proc/$target/exe)" = "$work/deleted" ]; do sleep 0.02; done
rm deleted
record -p $target -o x.reel -- "$until_cpu" $target 0.1
python3 "$OLDPWD/tests/reader/reel_reader.py" x.reel | grep '"MODULE"' | grep 'deleted (deleted)' | grep -qE '"build_id": "[0-9a-f]{40}"'
count $? "build-id of a deleted program"
kill $target
wait $target 2>/dev/null

# ---- privileges ---------------------------------------------------------------------------

chmod 755 "$busy"
mkdir -m 777 open
if setpriv --ambient-caps=+bpf,+perfmon --inh-caps=+bpf,+perfmon --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null; then
    # The source tree may be inaccessible to other users.
    cp "$recorder" recorder
    (cd open && setpriv --ambient-caps=+bpf,+perfmon --inh-caps=+bpf,+perfmon --reuid=65534 --regid=65534 --clear-groups \
        ../recorder -o u.reel -- "$busy" threads 1 0.5 2>../err)
    ok "CAP_BPF and CAP_PERFMON without root" "$check" open/u.reel complete placed=95 samples=20 threads=2
    (cd open && setpriv --inh-caps=-all --reuid=65534 --regid=65534 --clear-groups ../recorder -o v.reel -- true 2>../err)
    [ $? = 1 ] && [ "$(grep -c . err)" = 1 ] && grep -qE 'root|CAP_' err && [ ! -e open/v.reel ]
    count $? "no privileges: one line names the missing ones"
else
    skip "without root: setpriv does not support the capabilities"
fi
finish
