# tasks_list.sh - the tasks of bench/tasks.sh, which reads it
# shellcheck shell=bash disable=SC2154,SC2016 # variables are those of tasks.sh; some are for the shell that try starts

task chains "g++ of Debian (no frame pointers): samples whose chain reaches main or a thread's start"
compile='g++ -O2 -c -o out.o $sources/tests/truth/programs/exceptions.cc'
chains() { record "$1" compile "$compile" && fold "$1" compile && echo "$(share "$start" "compile.$1") %"; }
chains_perf() {
    local cell
    cell=$(chains perf)
    record perf compile64 "$compile" ,65528 && fold perf compile64 && echo "$cell (64 KiB a sample: $(share "$start" compile64.perf) %)"
}

task upgraded "the same of a program that an upgrade replaced while it ran, read where no binaries are, with names"
upgrade='sh -c "./app 4 & sleep 2; rm app; cp /bin/true app; wait"'
# alone TOOL ARGUMENT...: the command that runs it in an empty root, which has the tool's own libraries in another place
alone() {
    local tool=$1
    shift
    echo "unshare -m bash -c 'mount --bind $STACKREEL_CACHE/sysroot empty$STACKREEL_CACHE/sysroot; mount -t proc none empty/proc; HOME=/root exec chroot empty ${command[$tool]} $*'"
}
empty() {
    mkdir -p "empty$STACKREEL_CACHE/sysroot" empty/{proc,tmp,tool} empty/root/.debug
    ldd "$(command -v stackreel)" | grep -o '/[^ ]*' | xargs cp -t empty/tool "$(command -v stackreel)"
    command[stackreel]="/tool/$(basename "$(ldd empty/tool/stackreel | grep -o '/[^ ]*ld-linux[^ ]*')") --library-path /tool /tool/stackreel"
}
upgraded_stackreel() {
    empty
    cp orders app && record stackreel up "$upgrade" && cp up.reel empty/ && try "$(alone stackreel folded -q /up.reel) >up.stackreel" && echo "$(share ';main;.*shop::run' up.stackreel) %"
}
upgraded_perf() {
    empty
    cp orders app && record perf up "$upgrade" && try "bash $perf_core/perf-archive up.data" && try "tar xf up.data.tar.bz2 -C empty/root/.debug" && because "the archive has: $(tar tf up.data.tar.bz2 | tr '\n' ' ')"
    cp up.data empty/
    # Without --no-inline it ends by SIGPIPE where addr2line is not installed.
    try "$(alone perf script --no-inline -F comm,ip,sym -i /up.data) | python3 $sources/bench/tasks.py perf >up.perf" && echo "$(share ';main;.*shop::run' up.perf) %"
}
# These read files right after the recording, where it was made.
upgraded() { rm -f up.data && cp orders app && record "$1" up "$upgrade" && fold "$1" up && echo "$(share ';main;.*shop::run' "up.$1") %"; }

task bytes "bytes per sample of g++, 999 Hz"
size() {
    local samples bytes
    samples=$(awk '{ n += $NF } END { print n }' "$1") && shift
    bytes=$(cat "$@" | wc -c)
    because "$bytes bytes, $samples samples"
    echo $((bytes / samples))
}
bytes_stackreel() { [ -e compile.stackreel ] || chains stackreel >/dev/null; size compile.stackreel compile.reel; }
bytes_perf() {
    [ -e compile.perf ] || chains perf >/dev/null
    record perf small "$compile" ' -z' && fold perf small && echo "$(size compile.perf compile.data) (-z: $(size small.perf small.data))"
}
bytes_samply() { [ -e compile.samply ] || chains samply >/dev/null; size compile.samply compile.json.gz compile.json.syms.json; }
bytes_hotspot() { because "it records with perf"; echo "as perf"; }

task cpu "CPU time of recording a busy process for 5 s, in the recorder (share of a CPU)"
cpu() {
    local attach
    case $1 in
    stackreel) attach='stackreel-record -q -F 999 -o cpu.reel --duration 5 -p' ;;
    perf) attach='perf record -q -F 999 --call-graph dwarf -o cpu.data -p' ;;
    samply) attach='timeout -s INT 5 samply record --save-only -r 999 -o cpu.json.gz -p' ;; # -d is for commands
    hotspot) because "it records with perf" && echo "as perf" && return ;;
    esac
    [ "$1" != perf ] || set -- perf ' -- sleep 5'
    try "./orders 60 & TIMEFORMAT='%U %S'; time $attach \$!${2-}; kill \$!"
    because "user and system seconds: $(tail -n 1 err)"
    awk 'END { printf "%.1f %%\n", 100 * ($1 + $2) / 5 }' err
}

task first "from the end of a run of 10 s to the first report"
long='sh -c "./orders 10; date +%s.%N >end"'
first() {
    local report
    record "$1" long "$long"
    case $1 in
    stackreel) report='stackreel report -q --stdio long.reel' ;;
    perf) report='perf report --stdio -i long.data' ;;
    samply) report='true' ;; # names are in the file that it wrote; the browser's time is not included
    hotspot) rm -f long.data && record perf long "$long" && report='hotspot --exportTo long.perfparser long.data' ;;
    esac
    try "$report" && awk -v begin="$(cat end)" -v now="$(date +%s.%N)" 'BEGIN { printf "%.1f s\n", now - begin }'
}

# orders TOOL: a recording of it that several tasks read
orders() { [ -e "orders.$1" ] || { record "$1" orders "./orders 1" && fold "$1" orders; }; }

task inlined "inlined functions have their own frames"
inlined() { orders "$1" && yes_if 'shop::Checkout::tax' "orders.$1"; }

task secrets "a token on the program's stack stays out of the file"
token=CJQXELSZGNUBIPWDKRYFMTAHOVCJQXEL # made at run time: the program's file does not have it
token_program='
#include <stdlib.h>
#include <time.h>
__attribute__((noinline)) static unsigned work(const volatile char *token, unsigned sum)
{
	for (int i = 0; i < 100000; i++) sum = sum * 31 + (unsigned char)token[i % 32];
	return sum;
}
int main(int argc, char **argv)
{
	clock_t end = clock() + atoi(argv[1]) * CLOCKS_PER_SEC;
	volatile char token[32];
	unsigned sum = 0;
	for (int i = 0; i < 32; i++) token[i] = (char)(65 + (i * 7 + argc) % 26);
	while (clock() < end) sum = work(token, sum);
	return sum == 1;
}'
absent() { [ "$(yes_if $token "$1")" = no ] && echo yes || echo no; }
secrets_stackreel() {
    record stackreel token "./token 1" && try "stackreel-record -q -F 999 --raw-stacks -o raw.reel -- ./token 1"
    try "stackreel export -q --format=perf.data -o raw.data raw.reel; stackreel export -q --format=perf.data -o token.bytes token.reel"
    [ "$(yes_if $token raw.data)" = yes ] && absent token.bytes # otherwise it could not be seen there
}
secrets_perf() { record perf token "./token 1" && absent token.data; }
secrets_samply() { record samply token "./token 1" && try 'zcat token.json.gz >token.json' && absent token.json; }
secrets_hotspot() { because "it reads perf's file" && secrets_perf; }

task arm64 "an arm64 perf.data on x86-64: samples that reach main"
arm64_files=$sources/testdata/aarch64/perf
arm64_stackreel() { try "stackreel import -q -o arm.reel $arm64_files/dwarf.data && stackreel folded -q --no-host-files --symfs $arm64_files arm.reel >arm.stackreel" && echo "$(share "$start" arm.stackreel) %"; }
arm64_perf() { try "perf script --symfs $arm64_files -F comm,ip,sym -i $arm64_files/dwarf.data | python3 $sources/bench/tasks.py perf >arm.perf" && echo "$(share "$start" arm.perf) %"; }
arm64_samply() {
    # It has no --symfs: the program is put where it was.
    try "unshare -m sh -c 'mount -t overlay -o lowerdir=$arm64_files/usr/bin:/usr/bin overlay /usr/bin && samply import --save-only --unstable-presymbolicate -o arm.json.gz $arm64_files/dwarf.data'" &&
        try "python3 $sources/bench/tasks.py samply arm.json.gz >arm.samply" &&
        echo "$(share '^0x11[0-9a-f];' arm.samply) %" # without names: _start is at 0x110 of the file
}
arm64_hotspot() {
    try "hotspot --sysroot $arm64_files --exportTo arm.perfparser $arm64_files/dwarf.data" && try "python3 $sources/bench/tasks.py hotspot arm.perfparser >arm.hotspot" && echo "$(share "$start" arm.hotspot) %"
}

task jit "names of JIT code of a running node and java, started without flags"
jit() {
    local runtime attach map='' cell=''
    case $1 in
    stackreel) attach='stackreel-record -q -F 999 --duration 3 -o $name.reel --java-perfmap -p $pid' ;;
    perf | hotspot) attach='perf record -q -F 999 --call-graph dwarf -o $name.data -p $pid -- sleep 3' ;;
    samply) attach='timeout -s INT 3 samply record --save-only --unstable-presymbolicate -r 999 -o $name.json.gz -p $pid' ;;
    esac
    [ -e Work.class ] || try 'javac -d . $sources/tests/truth/programs/Work.java'
    [ "$1" = stackreel ] || map='[ $name = node ] || jcmd $pid Compiler.perfmap;'
    for runtime in "node $sources/testdata/programs/jit/deep.js" "java -cp . Work"; do
        try "export name=${runtime%% *}; $runtime 12 & pid=\$!; echo \$pid >pid; sleep 3; $map $attach; kill \$pid" && fold "$1" "${runtime%% *}"
        # Where perf finds no caller, script prints no frame either.
        [ "$1" != perf ] || try "perf report --stdio -g none -i ${runtime%% *}.data >${runtime%% *}.perf"
        cell+="${cell:+, }${runtime%% *} $(yes_if '(^|[;.:*~^ ])(fib|deep|Work[.:]+[a-z]+)\b' "${runtime%% *}.$1")"
        rm -f "/tmp/perf-$(cat pid).map"
    done
    echo "$cell"
}

task waits "how long threads were blocked, and how long runnable without a CPU"
waits_stackreel() {
    try "stackreel-record -q --off-cpu -o waits.reel -- sh -c 'for i in 1 2 3; do ./orders 2 & done; ./till 3; wait'" && try 'stackreel report -q --off-cpu --by state waits.reel'
    [ "$(yes_if blocked out)" = yes ] && yes_if 'preempted|woken' out
}
waits_perf() {
    try "perf record -q --off-cpu -o off.data -- ./till 1"
    because "perf record --off-cpu: $(head -n 1 err)"
    try "perf sched record -q -o sched.data -- ./till 3 && perf sched timehist --state -i sched.data >sched"
    yes_if 'wait time  sch delay' sched
}
waits_samply() { lacks samply 'runnable|blocked'; }
waits_hotspot() {
    try "perf record -q -e cpu-clock -e sched:sched_switch --call-graph dwarf -o off.data -- ./till 2 && hotspot --exportTo off.perfparser off.data"
    yes_if 'sched_switch' off.perfparser >/dev/null
    lacks hotspot 'runnable|preempted' | sed 's/^no$/time off CPU only/'
}

task mutex "who holds the mutex that others wait for"
mutex_stackreel() { try 'stackreel-record -q --off-cpu -o mutex.reel -- ./till 3 && stackreel report -q --locks mutex.reel' && yes_if 'till \([0-9]+\)' out; }
mutex_perf() {
    try 'perf lock record -q -o lock.data -- ./till 1; perf lock contention -b -a -o -- ./till 1'
    because "perf lock contention: $(grep -m 1 . err)"
    try "perf record -q -e syscalls:sys_enter_futex -e syscalls:sys_exit_futex -o futex.data -- ./till 2 && perf script -s $perf_core/scripts/python/futex-contention.py -i futex.data"
    yes_if '[Oo]wner|held by|holder' out
}
mutex() { lacks "$1" 'mutex (owner|holder)|lock (owner|holder)|contention'; }

task diff "difference of two recordings, with what is significant"
diff_stackreel() {
    try 'for i in 1 2 3; do for side in old new; do stackreel-record -q -o $side$i.reel -- ./orders 1; done; done; stackreel diff old*.reel --new new*.reel'
    yes_if 'for sure|would have been visible|changed by more' out
}
diff_perf() {
    try 'for side in old new; do perf record -q -o $side.data -- ./orders 1; done; perf diff old.data new.data'
    [ "$(yes_if 'Delta' out)" = yes ] && [ "$(yes_if 'signific|confidence|p-value' out)" = no ] && echo "without significance"
}
diff_samply() { lacks samply 'compare|two profiles'; }
diff_hotspot() { lacks hotspot '(^| |&)diff( |$)|compare'; }

task page "one file with a flame graph, for a browser without network"
page_stackreel() { orders stackreel && try 'unshare -n stackreel flamegraph -q -o page.html orders.reel' && [ "$(yes_if '<(script|link)[^>]+(src|href)=.?http' page.html)" = no ] && echo yes; }
page_perf() {
    orders perf
    try "unshare -n perf script -s $perf_core/scripts/python/flamegraph.py -i orders.data -- -o page.perf.html" && yes_if '<html' page.perf.html && return
    because "$(grep -m 1 template err)"
    try "perf script -s $perf_core/scripts/python/flamegraph.py -i orders.data -- --allow-download -o page.perf.html"
    yes_if '(src|href)=.?http' page.perf.html | sed 's/yes/no: loads parts from a CDN/; s/^no$/yes, with a template from the network/'
}
page_samply() { lacks samply 'html|svg'; }
page_hotspot() { lacks hotspot 'svg|png'; }

task flight "flight recorder with files of 2 s, the recorder killed (-9): time lost"
lost() { awk -v last="$(tail -n 1 out | tr -d ' :')" -v killed="$(cat killed)" 'BEGIN { if (last) printf "%.1f s\n", killed - last; else print "all" }'; }
flight='sleep 9; kill -9 $!; python3 -c "import time; print(time.clock_gettime(time.CLOCK_MONOTONIC))" >killed; sleep 1'
flight_stackreel() {
    try "./orders 60 & program=\$!; stackreel-record -q -F 999 --rotate 2s,3 -o flight.reel -p \$program & $flight; kill \$program; ls -l flight.*.reel"
    because "$(tr '\n' ' ' <out)"
    try 'for file in flight*.reel; do stackreel script -q -F time $file; done | grep -E "[0-9]"' || true # the status is that of an incomplete file
    lost
}
flight_perf() {
    try "./orders 60 & program=\$!; perf record -q -k CLOCK_MONOTONIC -F 999 --call-graph dwarf --switch-output=2s --switch-max-files=3 -o flight.data -p \$program & $flight; kill \$program; ls -l flight.data*"
    because "$(tr '\n' ' ' <out)"
    try 'for file in flight.data.* flight.data; do perf script -F time -i $file; done | grep -E "[0-9]"' || true
    lost
}
flight_samply() {
    try "./orders 60 & program=\$!; samply record --save-only -o flight.json.gz -p \$program & $flight; kill \$program; ls -l flight.json.gz"
    because "$(cat err)"
    [ -e flight.json.gz ] && yes_if . flight.json.gz || echo "all; no such mode"
}
flight_hotspot() { lacks hotspot 'rotate|switch-output|overwrite'; }

task firefox "Firefox Profiler's window for the recording"
firefox_stackreel() { orders stackreel && try 'stackreel export -q --format=firefox -o firefox.json orders.reel && cat firefox.json' && yes_if 'stackTable' out; }
firefox_perf() { orders perf && try "perf script -s $perf_core/scripts/python/gecko.py -i orders.data -- --save-only gecko.json && cat gecko.json" && yes_if 'stackTable' out; }
firefox_samply() { orders samply && try 'zcat orders.json.gz' && [ "$(yes_if 'stackTable' out)" = yes ] && echo "yes, opens it"; }
firefox_hotspot() { lacks hotspot 'firefox'; }

task top "live view of the whole system"
top_stackreel() { try './orders 6 & stackreel top --stdio --count 2 --delay 1s; kill $!' && yes_if 'orders' out; }
top_perf() { try './orders 6 & { sleep 4; echo q; } | timeout 6 perf top --stdio; kill $!'; yes_if 'orders' out; }
top_samply() { lacks samply 'live'; }
top_hotspot() { lacks hotspot '[^e]live[^r]'; }

task source "shares of source lines"
source_stackreel() { orders stackreel && try 'stackreel annotate -q --source by_value orders.reel' && yes_if '[0-9]+\.[0-9]+.*(return|const|=)' out; }
source_perf() { orders perf && try 'perf annotate --stdio -l -i orders.data -s "shop::by_value(void const*, void const*)"'; yes_if 'orders.cc:[0-9]+' out; }
source() { window; }

task stat "count events without sampling (perf stat)"
stat_stackreel() { lacks stackreel 'stat |count events'; }
stat_perf() { try 'perf stat -e task-clock,page-faults ./orders 1; cat err' || true; yes_if 'page-faults' err; }
stat() { lacks "$1" 'stat |count events'; }

task memory "which data is shared or far (perf c2c, perf mem)"
memory_perf() { if try 'perf c2c record -o c2c.data -- ./orders 1'; then echo yes; else because "$(tail -n 1 err)" && echo "not tried: no PMU here"; fi; }
memory() { lacks "$1" 'c2c|cache line|memory access'; }

task trace "system calls live, as strace (perf trace)"
trace_perf() { try 'perf trace -a -- sleep 1; cat err'; cat err >>out; yes_if 'clock_nanosleep|read\(' out; }
trace() { lacks "$1" 'strace|system calls'; }

task distribution "in Debian (stable, sid)"
distribution() {
    local package=$1 suite cell=''
    [ "$1" != perf ] || package=linux-perf
    for suite in trixie sid; do
        try "$sources/tests/vm/apt.sh $suite amd64 apt-cache policy $package"
        cell+="${cell:+, }$(awk '/Candidate:/ { print $2 }' out | grep . || echo no)"
    done
    echo "$cell"
}

task systems "records on macOS or Windows"
systems_samply() { try 'samply --help' && because "$(grep -m 1 macOS out)" && echo "not tried; its help says macOS"; }
systems() { lacks "$1" 'macos|on windows'; }
