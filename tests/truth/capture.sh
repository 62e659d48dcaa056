#!/bin/bash
# Checks recordings against independent facts: what the sampled programs, gdb, /proc and perf know. No
# comparison here computes the expected values from recorded bytes.
#
#   tests/truth/capture.sh [--quick] [PART...]     PART: torn magic gdb perf
#
#   torn    threads that constantly rewrite their stacks: the registers determine each word of each
#           sample (programs/torn.c, torn_check.c); a million samples, or 30,000
#   magic   each register, in user code, system calls, faults, interrupts, the vDSO, 32-bit code
#           (programs/magic.c, magic_check.py)
#   gdb     registers, bytes, chains, and stack ends of a stopped process (capture_gdb.py)
#   perf    chains and their shares, compared with perf's and the program's own clock (capture_perf.py)
#
# Needs root and BPF, x86-64. SECONDS_OF_PERF, GDB_ROUNDS and TORN_SAMPLES change the duration.
# shellcheck disable=SC2086,SC2317
. "$(dirname "$0")/../count.sh"
torn_check=$O/tests/truth/torn_check
quick=
[ "${1-}" = --quick ] && { quick=yes; shift; }
parts=${*:-torn magic gdb perf}
target=
trap '[ -z "$target" ] || kill -KILL $target 2>/dev/null; rm -rf "$work"' EXIT

# ok NAME COMMAND...: a case; prints its counts whether it passes or not.
ok() {
    local name=$1 status
    shift
    "$@" >"$work/out" 2>&1
    status=$?
    if [ $status = 0 ]; then
        passed=$((passed + 1))
        echo "$name"
    else
        failed=$((failed + 1))
        echo "FAILED: $name (status $status)"
    fi
    sed 's/^/    /' "$work/out" | head -n 40
    return $status
}

# fails NAME COMMAND...: a case that passes if the command finds the injected error (status 1).
fails() {
    local name=$1 status
    shift
    "$@" >"$work/out" 2>&1
    status=$?
    if [ $status = 1 ]; then
        passed=$((passed + 1))
        echo "$name"
    else
        failed=$((failed + 1))
        echo "FAILED: $name (status $status instead of 1)"
        sed 's/^/    /' "$work/out" | head -n 30
    fi
}

for program in "$recorder" "$stackreel" "$torn_check"; do
    [ -x "$program" ] || { skip "$program is not built"; finish; }
done
[ "$(uname -m)" = x86_64 ] || { skip "the programs need x86-64"; finish; }
[ "$(id -u)" = 0 ] || { skip "not root"; finish; }
if ! "$recorder" -q -o "$work/probe.reel" -- true 2>"$work/err"; then
    skip "cannot record here: $(head -n 1 "$work/err")"
    finish
fi

# Tracepoints need tracefs. If it is not mounted, mount it in a mount namespace for the recorder.
tracefs=/sys/kernel/tracing mount_tracefs=
if [ ! -d $tracefs/events ]; then
    if unshare -m mount -t tracefs tracefs $tracefs 2>/dev/null; then
        mount_tracefs=yes
    else
        tracefs=
    fi
fi

# record ARGUMENT...
record() {
    if [ $mount_tracefs ]; then
        unshare -m sh -c "mount -t tracefs tracefs $tracefs && exec \"\$@\"" sh "$recorder" --raw-stacks "$@"
    else
        "$recorder" --raw-stacks "$@"
    fi
}

# compile NAME OPTION...: builds programs/NAME.c
compile() {
    local name=$1
    shift
    ${CC:-cc} -g -Wall -Wextra -Werror -pthread "$@" -o "$work/$name" "tests/truth/programs/$name.c"
}

# ---- torn snapshots ---------------------------------------------------------------------------

torn_exact=0 torn_all=0

# torn NAME RECORDER-OPTIONS SECONDS MODE:WORDS...: the targets yield the CPU to the recorder where they can.
torn() {
    local name=$1 options=$2
    shift 2
    if ! record $options --ring-size 128M -z 1 -q -o "$work/torn.reel" -- nice -n 19 "$work/torn" "$@" \
        >"$work/facts" 2>"$work/err"; then
        failed=$((failed + 1))
        echo "FAILED: torn: $name: $(cat "$work/err")"
        return
    fi
    ok "torn: $name: $options, $*" "$torn_check" --min 100 "$work/torn.reel" "$work/facts"
    # Adds 0 if it failed.
    torn_exact=$((torn_exact + 10#0$(sed -nE 's/.* torn; ([0-9]+) exact.*/\1/p' "$work/out")))
    torn_all=$((torn_all + 10#0$(sed -nE 's/^([0-9]+) samples.*/\1/p' "$work/out")))
}

part_torn() {
    local rate wanted=${TORN_SAMPLES:-${quick:+30000}} seconds=${quick:+1} round=0
    wanted=${wanted:-1000000} seconds=${seconds:-12}
    rate=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
    [ "$rate" -gt 12000 ] && rate=12000
    ok "torn: build programs/torn.c" compile torn -O2 || return
    if [ "$(nproc)" -gt 1 ]; then
        # Writes by another thread are never read atomically, so the checker must find torn samples. On a busy machine the
        # threads may not have run at the same time, so retry.
        for _ in 1 2 3 4 5 6; do
            record -F $rate --ring-size 128M -z 1 -q -o "$work/torn.reel" -- nice -n -10 "$work/torn" 0.6 other:2000 \
                >"$work/facts"
            "$torn_check" --control "$work/torn.reel" "$work/facts" >"$work/out" && break
        done
        ok "torn: detects that another thread writes to the stack" \
            "$torn_check" --control "$work/torn.reel" "$work/facts"
    else
        skip "torn: only one CPU, so no other thread writes during a sample"
    fi
    while { [ $torn_exact -lt "$wanted" ] || [ $round -lt 4 ]; } && [ $round -lt $((wanted / 30000 + 20)) ]; do
        case $((round % 4)) in
        0) torn "all modes" "-F $rate" $seconds up:300 rep:1024 push:700 sys:2048 hole:2560 alt:500 ;;
        1) torn "handlers, and a main thread that pushes" "-F $rate" $seconds push:3000 alt:50 up:4 alt:1000 sys:100 ;;
        2) torn "cut stacks" "-F $rate --max-stack 8K" $seconds up:3000 push:4000 hole:5120 rep:1100 ;;
        3) torn "small stacks" "-F $rate --rings 2" $seconds up:20 push:10 rep:64 sys:16 push:100 ;;
        esac
        round=$((round + 1))
    done
    torn "stacks of 240 to 800 KB" "-F 3000 --max-stack 1M" "$([ $quick ] && echo 1 || echo 8)" \
        up:30000 rep:100000 sys:40000
    torn "at faults and switches" "-e context-switches,page-faults -c 1" 1 hole:2560 up:300 rep:1000 sys:4000 alt:600
    if [ $tracefs ]; then
        torn "at tracepoints" \
            "-e irq_vectors:local_timer_entry,sched:sched_switch,exceptions:page_fault_user,syscalls:sys_exit_pread64 -c 1" \
            1 sys:300 hole:2560 up:300 rep:1000 alt:600
    else
        skip "torn: tracepoints: cannot mount tracefs"
    fi
    # Off by one word, to show that the checker finds errors.
    awk '$1 == "thread" { $5 += 8 } { print }' "$work/facts" >"$work/facts.wrong"
    fails "torn: words at the wrong place are seen" "$torn_check" "$work/torn.reel" "$work/facts.wrong"
    echo "torn: $torn_all samples, $torn_exact exact"
    ok "torn: at least $wanted exact samples" [ "$torn_exact" -ge "$wanted" ]
}

# ---- registers -----------------------------------------------------------------------------------

magic_check() {
    "$stackreel" dump --json --bytes "$work/magic.reel" >"$work/magic.json" &&
        python3 tests/truth/magic_check.py "$work/rules" "$1" <"$work/magic.json"
}

# magic MINIMUM EVENTS PROGRAM ARGUMENT...: EVENTS are options of the recorder. If a busy machine gives too little time for enough samples,
# retries with four times as much, twice.
magic() {
    local minimum=$1 events=$2 seconds
    shift 2
    for seconds in $magic_seconds; do
        record $events --duration "$seconds" -q -o "$work/magic.reel" -- "$@" >"$work/rules" 2>"$work/err"
        [ ! -s "$work/rules.more" ] || cat "$work/rules.more" >>"$work/rules"
        magic_check "$minimum" >"$work/enough" 2>&1
        grep -q '^too few' "$work/enough" && grep -q ' 0 values wrong$' "$work/enough" || break
    done
    ok "magic: ${*##*/}: $events" magic_check "$minimum"
}

# Values are in the order of i386's DWARF register numbers.
magic32() {
    local mode spot time value=4058120199 values=() i
    for i in 0 1 2 3 4 5 6 7; do
        values+=($((value + 0x1010 * i)))
    done
    if ! runs_i386; then
        skip "magic: 32-bit code: the kernel cannot execute it, or no compiler can build it"
        return
    fi
    for mode in 1 2 3; do
        if ! ${CC:-cc} -m32 -nostdlib -static -no-pie -DMODE=$mode -o "$work/magic32-$mode" \
            tests/truth/programs/magic32.S 2>"$work/err"; then
            skip "magic: 32-bit code: $(tail -n 1 "$work/err")"
            return
        fi
    done
    spot=$(nm "$work/magic32-1" | awk '$3 == "spot" { print $1 }')
    echo "count $((16#$spot)) 3 32 $(for i in 0 1 2 3 4 5 6 7; do echo "$i=${values[i]}"; done)" | tr '\n' ' ' >"$work/rules.more"
    echo >>"$work/rules.more"
    magic 20 "-F 5000" "$work/magic32-1"
    [ ! $tracefs ] || magic 5 "-e irq_vectors:local_timer_entry -c 1" "$work/magic32-1"
    for mode in 2 3; do
        spot=$(nm "$work/magic32-$mode" | awk '$3 == "spot" { print $1 }')
        time=$(nm "$work/magic32-$mode" | awk '$3 == "time" { print $1 }')
        if [ $mode = 2 ]; then
            echo "rule $((16#$spot)) $((16#$spot + 1)) 2 0=? 1=0 2=${values[2]} 3=$((16#$time)) 5=${values[5]} 6=${values[6]} 7=${values[7]}"
        else
            # In __kernel_vsyscall, which has saved ecx, edx and ebp on the stack and reuses them.
            echo "rule $((0xf0000000)) $((0xffffffff)) 2 0=? 3=$((16#$time)) 6=${values[6]} 7=${values[7]}"
        fi >"$work/rules.more"
        magic 20 "-e context-switches -c 1" "$work/magic32-$mode"
    done
    rm "$work/rules.more"
}

part_magic() {
    local sp sps magic=$work/magic
    magic_seconds="2 8 32"
    [ ! $quick ] || magic_seconds="0.15 0.6 2.4 9.6"
    ok "magic: build programs/magic.c" compile magic -O2 || return
    magic 20 "-F 5000" "$magic" count
    magic 20 "-F 5000" "$magic" read
    magic 20 "-e context-switches -c 1" "$magic" sleep
    if runs_i386; then
        magic 20 "-e context-switches -c 1" "$magic" int80
    else
        skip "magic: int80: not supported by this kernel"
    fi
    magic 100 "-e page-faults -c 11" "$magic" fault
    magic 20 "-F 5000" "$magic" fault
    magic 20 "-F 5000" "$magic" vdso
    magic 20 "-F 5000" "$magic" libc
    # The last one again, with one register off by one.
    sed -E 's/ 15=([0-9]+)([0-9])$/ 15=\11\2/' "$work/rules" >"$work/rules.wrong" && mv "$work/rules.wrong" "$work/rules"
    fails "magic: a wrong register is seen" magic_check 1
    if [ $tracefs ]; then
        magic 5 "-e irq_vectors:local_timer_entry,sched:sched_switch -c 1" "$magic" count
        magic 20 "-e sched:sched_switch -c 1" "$magic" sleep
        magic 100 "-e raw_syscalls:sys_enter,raw_syscalls:sys_exit -c 11" "$magic" read
        magic 100 "-e exceptions:page_fault_user -c 11" "$magic" fault
    else
        skip "magic: tracepoints: cannot mount tracefs"
    fi
    # For any sp, the other registers are right, and only the program's own bytes are recorded: 0, the first
    # page, the end of the user half and the hole after it, the kernel half, the very last bytes.
    echo nostack >"$work/rules.more"
    sps=(0x7ffffffff000 0xffff888000000000 -8)
    [ $quick ] || sps+=(0 1 8 130 -20000 0x500000000001 0x7fffffffffff 0x800000000000 0xffffffff81000000 -4096 -1)
    for sp in "${sps[@]}"; do
        magic 20 "-F 5000" "$magic" sp $sp
    done
    rm "$work/rules.more"
    magic32
}

# ---- a stopped process -----------------------------------------------------------------------------

# at_rest PROGRAM SEED THREADS [--poke]: compares the stopped program. The recorder's command starts the program when recording is ready.
at_rest() {
    local status
    rm -f "$work/fifo" && mkfifo "$work/fifo"
    "$work/$1" "$2" "$3" <"$work/fifo" >"$work/facts" &
    target=$!
    exec 3>"$work/fifo"
    sleep 0.2
    record -q --max-stack 1M -e context-switches -c 1 -p $target -o "$work/switches.reel" -- \
        sh -c "echo >'$work/fifo'; sleep 0.4" &&
        record -q --max-stack 1M -F 500 -p $target -o "$work/clock.reel" -- sleep 0.2 &&
        python3 tests/truth/capture_gdb.py ${4-} "$stackreel" $target "$work/facts" "$work/switches.reel" "$work/clock.reel"
    status=$?
    exec 3>&-
    kill -KILL $target
    wait $target 2>/dev/null
    target=
    return $status
}

part_gdb() {
    local rounds=${GDB_ROUNDS:-${quick:+1}} seed compilers=rest
    command -v gdb >/dev/null || { skip "gdb is not installed"; return; }
    gdb -nx -batch -ex 'python print("has python")' 2>/dev/null | grep -q 'has python' || { skip "gdb has no Python support"; return; }
    ok "gdb: build programs/rest.c" compile rest -O2 || return
    if [ ! $quick ] && command -v clang >/dev/null; then
        cp "$work/rest" "$work/rest-gcc"
        CC=clang ok "gdb: ... with clang" compile rest -O2 && mv "$work/rest" "$work/rest-clang"
        compilers="rest-gcc rest-clang"
    fi
    for ((seed = 1; seed <= ${rounds:-12}; seed++)); do
        for program in $compilers; do
            ok "gdb: $program, seed $seed" at_rest $program $seed "$([ $quick ] && echo 24 || echo 40)"
        done
    done
    ok "gdb: detects one bit that was changed afterwards" at_rest $program 99 10 --poke
    ! grep -q 'no userfaultfd' "$work/facts" || skip "gdb: threads that wait in a page fault: no userfaultfd"
}

# ---- perf ----------------------------------------------------------------------------------------------

part_perf() {
    local seconds=${SECONDS_OF_PERF:-${quick:+4}} files
    seconds=${seconds:-40}
    command -v perf >/dev/null || { skip "perf is not installed"; return; }
    # A separate build-id cache.
    local HOME=$work
    export HOME
    ok "perf: build programs/phases.c" compile phases -O2 -fno-inline -fno-optimize-sibling-calls || return
    if ! record -q -F 1999 -o "$work/phases.reel" -- "$work/phases" $seconds >"$work/clock" 2>"$work/err"; then
        failed=$((failed + 1))
        echo "FAILED: perf: our capture: $(cat "$work/err")"
        return
    fi
    # Large buffers and -z, so that perf loses as little as possible. No shell before the program: after
    # exec, perf 6.1 keeps the process's old mappings, and then often finds no CFI for the new ones.
    # --buildid-mmap: while another recorder requests build-ids, the kernel marks all mmap records as having one
    # (perf_event_mmap_output sets a bit in data shared by all events); perf 6.1 then treats device numbers as a build-id.
    if ! perf record -q --buildid-mmap -m 16M -z -F 1999 -e cpu-clock --user-callchains --call-graph dwarf,65528 -o "$work/perf.data" \
        -- "$work/phases" $seconds >"$work/clock.perf" 2>"$work/err"; then
        skip "perf cannot record here: $(head -n 1 "$work/err")"
        return
    fi
    files=("$stackreel" "$work/phases.reel" "$work/clock" "$work/perf.data" "$work/clock.perf" "$work/phases")
    ok "perf: same chains and frequencies" python3 tests/truth/capture_perf.py "${files[@]}"
    fails "perf: samples of one chain that are left out are noticed" python3 tests/truth/capture_perf.py --drop "${files[@]}"
    # A program that spends two thirds more time in the first phase.
    record -q -F 1999 -o "$work/phases.reel" -- "$work/phases" $((seconds / 2)) 20 >"$work/clock"
    fails "perf: another program's shares are noticed" python3 tests/truth/capture_perf.py "${files[@]}"
}

for part in $parts; do
    part_$part
done
finish
