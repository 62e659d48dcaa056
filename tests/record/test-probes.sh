#!/bin/bash
# Probes of user code (-e uprobe:, uretprobe:), with a program that knows how often each fires, and with what callers; and traces of other
# events in functions whose return address the kernel has replaced.
# run.sh: records
. "$(dirname "$0")/../count.sh"
. tests/record/tracefs.sh
. tests/record/recording.sh
needs_to_record
[ -r /sys/bus/event_source/devices/uprobe/type ] || { skip "this kernel has no uprobes"; finish; }
"${CXX:-c++}" -O2 -g -fomit-frame-pointer -pthread -o probed "$tests/programs/probed.cc" || { failed=1; finish; }
record -q -e uprobe:./probed:main -o probe.reel -- ./probed 1 >/dev/null
ok "records probes" [ -s probe.reel ]

# chains CAPTURE EVENT: each chain of functions from main or the thread's function on, with its samples
chains() {
    "$stackreel" folded -q --event "$2" "$1" | sed -E 's/^[^ ]*;(main|calls)(;| )/\1\2/' | sort
}

# expect NAME EVENT CHAIN...: exactly these chains
expect() {
    local name=$1 event=$2
    shift 2
    record -q -e "$event" -o a.reel -- ./probed 500 >/dev/null || { count 1 "$name: $(cat err)"; return; }
    chains a.reel "$event" >found
    printf '%s\n' "$@" | sort >wanted
    diff wanted found >difference
    count $? "$name: $(head -n 6 difference)"
}

total() { "$stackreel" folded -q --event "$2" "$1" | awk '{ n += $NF } END { print n + 0 }'; }
# times NAME EVENT N
times() {
    record -q -e "$2" -o a.reel -- ./probed 500 >/dev/null || { count 1 "$1: $(cat err)"; return; }
    [ "$(total a.reel "$2")" = "$3" ]
    count $? "$1: $(total a.reel "$2") samples, not $3"
}

# ---- which functions ------------------------------------------------------------------------

expect "a function, recursive" uprobe:./probed:power "main;power 500" "main;power;power 500" "main;power;power;power 500" \
    "main;power;power;power;power 500" "main;power;power;power;power;power 500"
times "a function of two threads" uprobe:./probed:first 1000
times "a leaf" uprobe:./probed:third 1500
times "a name of C++" 'uprobe:./probed:shop::Cart::add' 500
times "... with parameters" 'uprobe:./probed:shop::Cart::add(int, char const*)' 500
times "... of two functions" uprobe:./probed:shop::total 1000
times "... of one of them" 'uprobe:./probed:shop::total(long)' 500
times "... of a template" 'uprobe:./probed:shop::twice<int>' 500
times "a pattern" 'uprobe:./probed:shop::*' 2500
times "a pattern of symbols" 'uprobe:./probed:*ird' 1500
times "the name of a symbol" uprobe:./probed:_ZN4shop5totalEi 500
record -q -e 'uprobe:./probed:shop::total(int),uretprobe:./probed:leaves' -e cpu-clock -o a.reel -- ./probed 10 >/dev/null
[ "$(total a.reel 'uprobe:./probed:shop::total(int)')" = 10 ]
count $? "several events, one with a comma"

address=$(nm probed | awk '$3 == "second" { print $1 }')
call=$(objdump -d --no-show-raw-insn --start-address=0x$address probed 2>/dev/null | awk '/\t(call|bl|jal|brasl)/ { sub(":", "", $1); print $1; exit }')
offset=${call:+$((0x$call - 0x$address))}
if [ -n "$offset" ]; then
    times "an instruction in a function" "uprobe:./probed:second+$offset" 1000
else
    skip "an instruction in a function: no objdump, or no call"
fi
times "a library by its name" uprobe:libc.so.6:setlocale 0
record -q -e uprobe:libc:malloc -o a.reel -- ./probed 1 >/dev/null && [ "$(total a.reel uprobe:libc:malloc)" -gt 0 ]
count $? "a library by its name without version"
record -q -e uprobe:bash:main -o a.reel -- bash -c 'exit 0'
[ "$(total a.reel uprobe:bash:main)" = 1 ] || ! nm -D "$(command -v bash)" 2>/dev/null | grep -q ' main$'
count $? "a program in PATH"
record -q -c 10 -e uprobe:./probed:power -C 0 -o a.reel -- taskset -c 0 ./probed 500 >/dev/null
[ "$("$stackreel" export -q --format=csv -o - a.reel | awk -F, 'NR > 1 { n += $7 } END { print n }')" = 2500 ] && [ "$(total a.reel uprobe:./probed:power)" = 250 ]
count $? "each tenth hit counts as ten: $(total a.reel uprobe:./probed:power) samples"

# ---- lists -----------------------------------------------------------------------------------

# Each listed name is one that -e accepts.
lists() {
    local name=$1 pattern=$2 event events=()
    shift 2
    printf '%s\n' "$@" >wanted
    "$recorder" --list "$pattern" >found 2>err
    diff wanted found >difference
    count $? "$name: $(head -n 6 difference)"
    while read -r event; do events+=(-e "$event"); done <found
    record -q "${events[@]}" -o a.reel -- true
    count $? "... each of which is an event: $(cat err)"
}
lists "functions of a file" 'uprobe:./probed:shop::*' 'uprobe:./probed:int shop::twice<int>(int)' 'uprobe:./probed:long shop::twice<long>(long)' \
    'uprobe:./probed:shop::Cart::add(int, char const*)' 'uprobe:./probed:shop::total(int)' 'uprobe:./probed:shop::total(long)'
lists "static probes of a file" usdt:./probed usdt:./probed:shop:added usdt:./probed:shop:sold
lists "tracepoints" 'sched:sched_wakeup*' sched:sched_wakeup sched:sched_wakeup_new
lists "... with their prefix" 'tracepoint:sched:sched_switch' tracepoint:sched:sched_switch
lists "events by perf's names" '*-clock' cpu-clock task-clock
ok "functions of the kernel" grep -qx kprobe:do_exit <("$recorder" --list 'kprobe:do_ex*')
[ "$("$recorder" --list='latency:libc:m*ll*c' | grep -cx 'latency:libc:malloc')" = 1 ]
count $? "each name once"
for nothing in 'no-such-*' 'uprobe:./probed:no-such-*' usdt:./busy kprobe:no_such_function; do
    fails 1 "no event matches '$nothing" --list "$nothing"
    count $? "no such names: $(cat err)"
done
fails 2 'single pattern' --list uprobe:./probed probed
count $? "two patterns: $(cat err)"
if objcopy --redefine-sym "third=$(printf 'third\033[31m')" probed hostile 2>/dev/null; then
    record --list 'uprobe:./hostile:third*' >found
    [ ! -s found ] && grep -q '1 names with special characters' err
    count $? "a terminal's commands in a symbol: $(cat err)"
fi

# Before 6.6, the kernel takes minutes to remove so many.
many='uprobe:libstdc++.so.6:std::__cxx11::basic_*'
if [ "$("$recorder" --list "$many" 2>/dev/null | wc -l)" -ge 400 ] && [ "$(printf '%s\n' 6.6 "$(uname -r)" | sort -V | head -n 1)" = 6.6 ]; then
    timeout 30 "$recorder" -q -e "$many" -o a.reel -- true 2>err
    count $? "hundreds of functions: $(cat err)"
else
    skip "hundreds of functions: not in libstdc++, or Linux before 6.6"
fi

# ---- static probes ---------------------------------------------------------------------------

record -q -e tracepoint:sched:sched_switch -o a.reel -- ./probed 1 >/dev/null 2>&1 && ok "another name of a tracepoint" [ "$(total a.reel tracepoint:sched:sched_switch)" -ge 1 ]
if [ -r /sys/bus/event_source/devices/kprobe/type ]; then
    record -q -e kprobe:do_exit -o a.reel -- ./probed 1 >/dev/null
    ok "a kernel function" [ "$(total a.reel kprobe:do_exit)" -ge 2 ]
else
    fails 1 'CONFIG_KPROBE_EVENTS' -q -e kprobe:vfs_read -- true
    count $? "no kprobes: $(cat err)"
fi
times "a static probe" usdt:./probed:shop:added 500
times "... with a semaphore, which the program checks" usdt:./probed:shop:sold 500
times "a pattern of static probes" 'usdt:./probed:sh*:*' 1000
fails 1 'no probe shop:nothing in ./probed' -q -e usdt:./probed:shop:nothing -- true
count $? "no such static probe: $(cat err)"
fails 1 'expected usdt:' -q -e usdt:./probed:shop -- true
count $? "half of a name: $(cat err)"

# ---- values ----------------------------------------------------------------------------------

record -q -e 'uprobe:./probed:shop::Cart::add' --arg 2:s32 --arg 3:string -o a.reel -- ./probed 300 >/dev/null
[ "$("$stackreel" report -q --stdio --percent-limit 0 --by arg2 a.reel | grep -cE '^ .* 1 +[0-9]+$')" = 300 ]
count $? "each argument of 300 calls"
"$stackreel" report -q --stdio --by arg3 a.reel >found
ok "a string" grep -qE ' (299|300) +x$' found
record -q -e 'uretprobe:./probed:shop::total(int)' --arg 1:u8 -o a.reel -- ./probed 300 >/dev/null
"$stackreel" report -q --stdio --percent-limit 0 --by arg1 a.reel >found
[ "$(grep -cE '^ .* 2 +([1-9]|[1-3][0-9]|4[0-4])$' found)" = 44 ] && [ "$(grep -cE '^ .* 1 +[0-9]+$' found)" = 212 ]
count $? "results, of a byte each: $(head -n 5 found)"
case $(uname -m) in
x86_64 | aarch64)
    record -q -e usdt:./probed:shop:added --arg 1 --arg 2 -e uprobe:./probed:third -o a.reel -- ./probed 300 >/dev/null
    "$stackreel" report -q --stdio --event usdt:./probed:shop:added --by arg1 a.reel >found
    ok "an argument of a static probe" grep -qE ' 300 +-7$' found
    "$stackreel" report -q --stdio --event uprobe:./probed:third --by arg1 a.reel >found 2>&1
    ok "... not of another event" grep -qF "no selected sample has the label" found
    fails 1 'has no argument 3' -q -e usdt:./probed:shop:added --arg 3 -- true
    count $? "an argument that it does not have: $(cat err)"
    ;;
*) skip "arguments of static probes: not on this CPU" ;;
esac
# A process's new program is known from elsewhere.
record -q -e sched:sched_process_exec --arg filename --arg 2 -e syscalls:sys_enter_openat --arg filename:ustring --arg dfd:s32 \
    -e sched:sched_switch --arg prev_comm -o a.reel -- sh -c '/bin/cat /etc/hostname; exec ./probed 1' >/dev/null
"$stackreel" script -q --fields pid,labels --event sched:sched_process_exec a.reel >found
ok "a tracepoint's text and number" [ "$(sed -nE 's/^ *([0-9]+) .* filename=(\S+) arg-pid=\1$/\2/p' found | grep -v '/sh$' | paste -sd' ')" = "/bin/cat ./probed" ]
"$stackreel" script -q --fields labels --event syscalls:sys_enter_openat a.reel >found
ok "a string of the program" grep -qF ' filename=/etc/hostname dfd=-100' found
"$stackreel" script -q --fields labels --event sched:sched_switch a.reel >found
ok "an array" grep -qE ' prev_comm=(sh|cat|probed)$' found
for key in filename arg1; do
    "$stackreel" report -q --stdio --event syscalls:sys_enter_openat --by $key --label $key=/etc/hostname a.reel >found 2>err
    [ "$(awk '$NF == "/etc/hostname" { print $(NF - 1) }' found)" = 1 ]
    count $? "--by $key: $(cat found err)"
done
"$stackreel" sql -q a.reel "SELECT count(DISTINCT key) FROM sample_labels WHERE key IN ('filename', 'arg-pid', 'dfd', 'prev_comm')" >found 2>err
ok "several events' fields in SQL" grep -qx 4 found
"$stackreel" report --stdio --by next_comm a.reel >found 2>err
[ $? = 1 ] && grep -q "invalid key 'next_comm' .*; fields of this capture: .*'prev_comm'" err
count $? "--by an unknown field: $(cat err)"
fails 1 "no field 'nothing' .expected prev_comm, prev_pid, " -q -e sched:sched_switch --arg nothing -- true
count $? "no such field: $(cat err)"
fails 1 'the field is a text' -q -e sched:sched_switch --arg prev_comm:u8 -- true
count $? "a text as a number: $(cat err)"
for wrong in 0 7 x 1:x 1:; do
    fails 1 'invalid value' -q -e uprobe:./probed:main --arg $wrong -- true
    count $? "--arg $wrong: $(cat err)"
done
fails 1 'only probes and tracepoints' -q -e cpu-clock --arg 1 -- true
count $? "values of a clock: $(cat err)"
fails 2 'must follow' -q --arg 1 -e uprobe:./probed:main -- true
count $? "--arg before -e: $(cat err)"

# ---- filters ---------------------------------------------------------------------------------

cat >calls.c <<'END'
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	char name[16];

	for (long i = -50; i < 50; i++)
		syscall(SYS_getpriority, i, i * 3);
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "%c%c-%d", 'a' + i % 3, 'x' + i % 2, i);
		prctl(PR_SET_NAME, name);
	}
	return 0;
}
END
cc -O2 -o calls calls.c || { failed=1; finish; }
# filtered EVENT N EXPRESSION: so many samples, and as many hits by the kernel's own filter
filtered() {
    local kernels=$2
    record -q -e "$1" --filter "$3" -o a.reel -- ./calls
    ! command -v perf >/dev/null || kernels=$(perf stat -x, -e "$1" --filter "$3" ./calls 2>&1 | cut -d, -f1)
    [ "$(total a.reel "$1")" = "$2" ] && [ "$kernels" = "$2" ]
    count $? "--filter '$3': $(total a.reel "$1") of $2, $kernels by perf: $(cat err)"
}
filtered syscalls:sys_enter_getpriority 10 'who < 30'
filtered syscalls:sys_enter_getpriority 11 'who >= 10 && who <= 40 || who == 60'
filtered syscalls:sys_enter_getpriority 66 '!(who == 3) && !(who != 3 && who < 100)'
filtered task:task_rename 0 'pid < 0xffffffff'
filtered task:task_rename 1 'newcomm == "ax-0"'
filtered task:task_rename 14 'newcomm ~ "a*"'
filtered task:task_rename 4 'newcomm ~ "?x-*2"'
filtered task:task_rename 5 'newcomm ~ "*x*3*"'
filtered task:task_rename 27 'pid > 0 && newcomm ~ "b*" || newcomm ~ "a*"'
record -q -e syscalls:sys_enter_getpriority --filter 'who & 1' -c 5 -o a.reel -- ./calls
ok "a filter comes before the period" [ "$(total a.reel syscalls:sys_enter_getpriority)" = 10 ]
while read -r at wrong; do
    fails 1 "at character $at" -q -e syscalls:sys_enter_getpriority --filter "$wrong" -- true
    count $? "a wrong filter, '$wrong': $(cat err)"
done <<'END'
1
1 3 == who
1 nothing == 1
4 who
5 who ~ "a"
5 who && who
8 who == x
12 who == 1 &&
10 (who == 1
9 who == 1)
65 who==1||who==2||who==3||who==4||who==5||who==6||who==7||who==8||who==9
END
fails 1 "at character 12" -q -e task:task_rename --filter 'newcomm == "a' -- true
count $? "half a text: $(cat err)"
# Values of probes: the program calls take(i, size, name) a hundred times; its static probe has the same values, wherever the compiler has them.
cat >takes.c <<'END'
#if defined(__x86_64__) || defined(__aarch64__)
#define TAKEN                                                                                                           \
	__asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 992f-991f, 994f-993f, 3\n" \
			 "991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte 990b, 0, 0\n.asciz \"shop\"\n"              \
			 ".asciz \"taken\"\n.asciz \"-4@%0 8@%1 8@%2\"\n994: .balign 4\n.popsection"                      \
			 :: "nor"(n), "nor"(size), "nor"(name))
#else
#define TAKEN
#endif
__attribute__((noinline)) int take(int n, unsigned long size, const char *name)
{
	TAKEN;
	__asm__ volatile("" ::: "memory");
	return n * 2 + (int)(size & 1) + (name[0] == 'q');
}
int main(void)
{
	static const char *const names[] = { "alpha", "beta", "gamma", "alphabet" };
	const char *volatile first = names[0];
	volatile int sum = *first; /* a page that is not in memory cannot be read */

	for (int i = -50; i < 50; i++)
		sum += take(i, i < 0 ? 4096 : 8192ul + (unsigned long)i, names[(i + 52) % 4]);
	return 0;
}
END
cc -O2 -g -o takes takes.c || { failed=1; finish; }
# takes EVENT N EXPRESSION [--arg ...]: so many samples, and none of the other hits is lost
takes() {
    record -e "$1" "${@:4}" --filter "$3" -o a.reel -- ./takes
    [ "$(total a.reel "$1")" = "$2" ] && ! grep -q 'missed' err
    count $? "$1 --filter '$3': $(total a.reel "$1") of $2: $(cat err)"
}
takes uprobe:./takes:take 50 'arg2 > 4096'
takes uprobe:./takes:take 1 'arg1:s32 == -7'
takes uprobe:./takes:take 25 'arg3 ~ "alpha*" && arg1:s32 >= 0'
takes uprobe:./takes:take 75 'arg3 != "alpha"'
takes uprobe:./takes:take 51 'arg1 < 0 || arg1 == 3' --arg 1:s32
takes uretprobe:./takes:take 5 'arg1:s32 >= 90'
while read -r wrong; do
    fails 1 'at character 1: ' -q -e uprobe:./takes:take --filter "$wrong" -- true
    count $? "a wrong filter of a probe, '$wrong': $(cat err)"
done <<'END'
size == 3
arg9 == 3
arg3:x == 3
END
if "$recorder" --list usdt:./takes | grep -q shop:taken; then
    taken=usdt:./takes:shop:taken
    takes $taken 100 'arg2 > 0'
    takes $taken 50 'arg2 > 4096'
    takes $taken 50 'arg1 < 0' # the probe says that it is signed
    takes $taken 1 'arg1 == -7'
    takes $taken 25 'arg3 ~ "alpha*" && arg1 >= 0'
    takes $taken 75 'arg3 != "alpha"'
    takes $taken 0 'arg1 == 7 && arg2 == 4096'
    takes $taken 26 '(arg1 & 1) && arg1 > 0 || arg3 == "beta" && arg1 == -47' --arg 1
    # Hits that do not pass count neither for the period nor for the rate.
    takes $taken 10 'arg1 >= 0' -c 5
    takes $taken 10 'arg1 >= 40' --max-rate 10
    fails 1 'at character 1: ' -q -e $taken --filter 'arg4 == 3' -- true
    count $? "a filter with a value that the static probe does not have: $(cat err)"
else
    skip "filters of static probes: not on $(uname -m)"
fi
fails 1 'only tracepoints and probes' -q -e cpu-clock --filter 'who == 1' -- true
count $? "a clock's filter: $(cat err)"

# ---- latencies -------------------------------------------------------------------------------

# 20 calls of 10 ms, with 20 of 5 ms within; 20 short ones.
cat >sleeps.c <<'END'
#include <setjmp.h>
#include <unistd.h>
static jmp_buf back;
__attribute__((noinline)) void nap(int n, int depth)
{
	usleep(n);
	if (depth)
		nap(n, depth - 1);
	__asm__ volatile("");
}
__attribute__((noinline)) void gone(void) { usleep(1000); longjmp(back, 1); }
int main(void)
{
	for (volatile int i = 0; i < 20; i++) {
		nap(5000, 1);
		if (!setjmp(back))
			gone();
	}
	for (volatile int i = 0; i < 20; i++)
		nap(0, 0);
	return 0;
}
END
cc -O2 -g -o sleeps sleeps.c || { failed=1; finish; }
record -q -e latency:./sleeps:nap -e latency:./sleeps:gone -o a.reel -- ./sleeps
"$stackreel" export -q --format=csv --event latency:./sleeps:nap -o - a.reel | awk -F, '
    $17 == "nap" { within++; inner += $7; early += $7 < 5e6 }
    $17 == "main" { calls++; outer += $7; long += $7 >= 10e6 }
    END { print within, early + 0, calls, (long >= 20), (outer >= inner + 20 * 5e6) }' >found
[ "$(cat found)" = "20 0 40 1 1" ]
count $? "each call's time, also of recursive ones: $(cat found)"
"$stackreel" report -q --stdio --histogram --event latency:./sleeps:nap a.reel >found
[ "$(awk '/\.\./ { n += $5 } / 4\.19 ms \.\./ { long = 1 } long { slow += $5 } END { print n, (slow >= 40) }' found)" = "60 1" ]
count $? "how long calls took: $(cat found)"
ok "none of calls left by longjmp" [ "$(total a.reel latency:./sleeps:gone)" = 0 ]
fails 1 'no offset' -q -e latency:./sleeps:nap+1 -- true
count $? "a latency with an offset: $(cat err)"

# ---- rates -----------------------------------------------------------------------------------

record --max-rate 100 -e uprobe:./probed:power -o a.reel -- ./probed 2000 >/dev/null
kept=$(total a.reel uprobe:./probed:power)
lost=$("$stackreel" info a.reel | sed -nE 's/^Losses:.*hits of functions and probes, or waits, missed[^0-9]*([0-9,]+).*/\1/p' | tr -d ,)
[ "$kept" -ge 100 ] && [ "$kept" -lt 2000 ] && [ $((kept + lost)) = 10000 ] && grep -q "hits above --max-rate" err
count $? "hits above the rate are counted: $kept of 10000, $lost lost"
# Samples that come while a file ends wait for the next one.
record -q --rotate 100ms --max-rate none -e uprobe:./probed:power --arg 1 -o part.reel -- ./probed 30000 >/dev/null
for file in part*.reel; do "$stackreel" dump -q --json "$file"; done | grep '"record": "SAMPLE"' >samples
[ "$(grep -c . samples)" -gt 10000 ] && [ "$(grep -c '"labels": \[' samples)" = "$(grep -c . samples)" ] && [ "$(echo part*.reel | wc -w)" -gt 3 ]
count $? "rotation keeps values: $(grep -c '"labels": \[' samples) of $(grep -c . samples), in $(echo part*.reel | wc -w) files"
rm -f part*.reel samples
record -q --max-rate none -e uprobe:./probed:power -o a.reel -- ./probed 5000 >/dev/null
ok "no limit" [ "$(total a.reel uprobe:./probed:power)" = 25000 ]
record -q -e uprobe:./probed:power -o a.reel -- ./probed 20000 >/dev/null
kept=$(total a.reel uprobe:./probed:power)
# Of the time that it took, and as many at once at the beginning.
"$stackreel" export -q --format=csv -o - a.reel | awk -F, -v cpus="$(nproc)" 'NR == 2 { begin = end = $3 } NR > 1 { if ($3 > end) end = $3 } END { exit !(NR > 10000 && NR - 1 <= 10000 * cpus * (2 + (end - begin) / 1e9)) }'
count $? "10,000 per second and CPU by default: $kept of 100000"

# Intervals of single events.
event_of() { "$stackreel" dump intervals.reel | grep -E "EVENT .*name=\"$1" | sed 's/ weight_unit.*//' | grep -oE '(frequency|period)=[0-9]+' | paste -sd' '; }
record -q -F 50 -e page-faults/period=7/,cpu-clock/freq=123/u,task-clock,minor-faults/period=3/k -o intervals.reel -- true
ok "an event's own period" [ "$(event_of page-faults)" = "frequency=0 period=7" ]
ok "an event's own frequency, with a modifier" [ "$(event_of cpu-clock)" = "frequency=123 period=0" ]
ok "other events have that of all" [ "$(event_of task-clock)" = "frequency=50 period=0" ]
ok "a period with a modifier" [ "$(event_of minor-faults)" = "frequency=0 period=3" ]
for wrong in page-faults/period=0/ page-faults/period=x/ page-faults/perod=3/ page-faults/period=3,freq/; do
    ok "$wrong is an error" fails 1 'invalid term' -q -e "$wrong" -o intervals.reel -- true
done

# ---- processes -------------------------------------------------------------------------------

# Processes that run already; others that map the file are not recorded.
./probed 100000000 >/dev/null &
running=$!
./probed 100000000 >/dev/null &
other=$!
for pid in $running $other; do until [ "$(readlink /proc/$pid/exe)" = "$work/probed" ]; do sleep 0.02; done; done
record -q -e uprobe:probed:jumps -p $running -o a.reel -- "$until_cpu" $running 0.3
[ "$("$stackreel" script -q a.reel | grep -oE '^probed +[0-9]+/' | sort -u | wc -l)" = 1 ] && [ "$(total a.reel uprobe:probed:jumps)" -gt 100 ]
count $? "-p, by the name of a mapped file: $(total a.reel uprobe:probed:jumps)"
kill $running $other
wait $running $other 2>/dev/null
if unshare -m true 2>/dev/null; then
    mkdir -p root/bin
    cp probed root/bin/inside
    ln -s /bin/inside root/bin/link
    cc -static -O1 -x c -o root/bin/static - <<<'#include <unistd.h>
__attribute__((noinline)) void tick(void) { usleep(1000); __asm__ volatile(""); }
int main(void) { for (;;) tick(); }' 2>err && cp root/bin/static root/bin/inside && {
        chroot root /bin/inside &
        inside=$!
        until [ "$(readlink /proc/$inside/exe)" = "$work/root/bin/inside" ]; do sleep 0.02; done
        record -q -e uprobe:/bin/link:tick -p $inside --duration 1 -o a.reel
        [ "$(total a.reel uprobe:/bin/link:tick)" -gt 10 ]
        count $? "-p, by a link in the process's own root: $(cat err)"
        kill $inside
    }
fi

# ---- errors ------------------------------------------------------------------------------------

fails 1 "no function 'nothing' in ./probed" -q -e uprobe:./probed:nothing -- true
count $? "no such function: $(cat err)"
fails 1 'no such file' -q -e uprobe:./nowhere:main -- true
count $? "no such file: $(cat err)"

# ---- programs that were replaced --------------------------------------------------------------

cp probed replaced
cp probed replacement
./replaced 2000000000 >/dev/null &
replaced=$!
sleep 0.2
# warns PATTERN ARGUMENT...: a line of the recorder matches the pattern
warns() {
    local pattern=$1
    shift
    record -o a.reel --duration 0.5 "$@" && grep -qE -- "$pattern" err
}
! warns 'older|mapped' -e uprobe:"$work/replaced":leaves -p $replaced
count $? "no warning for the program's own file: $(head -n 1 err)"
mv replacement replaced
warns "1 process runs an older $work/replaced, .*/proc/$replaced/exe" -e uprobe:"$work/replaced":leaves -p $replaced
count $? "a program whose file was replaced: $(head -n 1 err)"
warns "runs? an older $work/replaced, " -e uprobe:"$work/replaced":leaves -a
count $? "... in the whole system: $(head -n 1 err)"
warns 'no recorded process has .*probed mapped' -e uprobe:"$work/probed":leaves -p $replaced
count $? "a file that the process has not mapped: $(head -n 1 err)"
record -q -e "uprobe:/proc/$replaced/exe:*ird" --duration 0.5 -p $replaced -o a.reel
[ "$("$stackreel" folded -q a.reel | awk '{ n += $NF } END { print n + 0 }')" -gt 0 ]
count $? "/proc/PID/exe is the running program: $(cat err)"
kill $replaced
wait $replaced 2>/dev/null
fails 1 'PATH' -q -e uprobe:nowhere:main -- true
count $? "no such name: $(cat err)"
fails 1 'beyond the end' -q -e uprobe:./probed:third+100000 -- true
count $? "an offset outside: $(cat err)"
fails 1 'no offset' -q -e uretprobe:./probed:third+1 -- true
count $? "a return with an offset: $(cat err)"
fails 1 'expected uprobe:' -q -e uprobe:./probed -- true
count $? "no function: $(cat err)"
fails 1 'more than 1000' -q -e 'uprobe:libc.so.6:*' -- true
count $? "more than a thousand functions: $(cat err)"
fails 1 'IFUNC' -q -e uprobe:libc.so.6:strlen -- true || ! readelf -Ws --dyn-syms /lib/*/libc.so.6 2>/dev/null | grep -q 'IFUNC.* strlen@'
count $? "a function that is chosen at run time: $(cat err)"
head -c 3000 /dev/urandom >noise
fails 1 'ELF' -q -e uprobe:./noise:main -- true
count $? "not an ELF file: $(cat err)"
mkfifo fifo
fails 1 'regular' -q -e uprobe:./fifo:main -- true
count $? "a FIFO: $(cat err)"

# ---- returns -------------------------------------------------------------------------------------

expect "returns are in the caller" uretprobe:./probed:power "main 500" "main;power 500" "main;power;power 500" "main;power;power;power 500" \
    "main;power;power;power;power 500"
times "a function left by longjmp does not return" uretprobe:./probed:jumps 0

# A clock's samples have the callers that they would have without probes. One moment in the kernel has no known return address; such a trace
# is marked incomplete.
record -q -F 5000 -e cpu-clock -e uretprobe:./probed:first,uretprobe:./probed:second,uretprobe:./probed:third -e uretprobe:./probed:power,uretprobe:./probed:jumps,uretprobe:./probed:leaves \
    -o a.reel -- ./probed 20000 300 >/dev/null
clock() { "$stackreel" folded -q --event cpu-clock "$1" | grep -E '(^|;)(third|second|first|power|jumps|leaves)(;| )' | grep -v incomplete; }
wrong_chains() {
    clock "$1" | sed -E 's/ [0-9]+$//; s/^[^ ]*;(main|calls);/\1;/' |
        grep -vxE '(main|calls);first(;second(;third)?)?|main(;power){1,5}|main(;power){5};third|main;jumps(;leaves(;.*)?)?'
}
wrong_chains a.reel >found
[ ! -s found ]
count $? "no wrong caller in functions that will return to the kernel: $(sort found | uniq -c | head -n 3)"
right=$(clock a.reel | awk '{ n += $NF } END { print n + 0 }')
wrong=$("$stackreel" folded -q --event cpu-clock a.reel | grep incomplete | awk '{ n += $NF } END { print n + 0 }')
[ "$right" -gt 500 ] && [ $((wrong * 50)) -lt "$right" ]
count $? "... and nearly all traces are complete: $right, not $wrong"
record -q --off-cpu=999 -e uretprobe:./probed:first -e uretprobe:./probed:second -o a.reel -- ./probed 3000 3000 >/dev/null
"$stackreel" folded -q --event off-cpu a.reel | grep -vE 'incomplete|;(main|calls)[; ]|^(_start|(__GI___)?clone3?)[; ]|no frames' >found
[ ! -s found ]
count $? "looks at waiting threads: $(head -n 3 found)"

if command -v perf >/dev/null && perf probe -q -x ./probed --add 'second%return' 2>err; then
    perf record -q -e 'probe_probed:second__return' -a -o /dev/null -- sleep 3 2>/dev/null &
    sleep 1
    record -q -F 5000 -e cpu-clock -o a.reel -- ./probed 100000 3000 >/dev/null
    wait $!
    perf probe -q --del 'probe_probed:*'
    wrong_chains a.reel >found
    [ ! -s found ]
    count $? "another program's uretprobe: $(sort found | uniq -c | head -n 3)"
else
    skip "another program's uretprobe: no perf probe ($(head -n 1 err))"
fi
finish
