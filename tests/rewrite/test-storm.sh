#!/bin/bash
# Tens of thousands of processes without samples affect neither the output of commands nor their memory.
#
#   O=DIR   the object directory (build)
# run.sh: makes thorough
# checks: =replay/capture =replay/traces format/timeline
. "$(dirname "$0")/../count.sh"
tool=$PWD/$O/stackreel

make -s "$O/bench/storm" "$O/bench/measure" >"$work/log" 2>&1 || cat "$work/log"
tests/matrix/unpack.sh x86_64 "$work/symfs" || exit 1
files=(-q --no-host-files --symfs "$work/symfs")

# same NAME COMMAND...: prints the same for storm.reel and calm.reel (FILE in COMMAND), except for the files' names, ids and versions.
same() {
    local name=$1 kind
    shift
    for kind in calm storm; do
        "$tool" "${@/FILE/$work/$kind.reel}" "${files[@]}" <"$work/$kind.reel" 2>"$work/err" |
            sed "s,$work/[a-z]*.reel,FILE," | grep -vE '^(format|file id|file size|contents) ' >"$work/$kind.out"
    done
    [ -s "$work/calm.out" ] && cmp "$work/calm.out" "$work/storm.out" >"$work/err" 2>&1
    count $? "$name: $1"
}

# 80,000 records of 20,000 processes. The samples are of threads, forked processes, processes after exec, and JIT code.
for capture in testdata/x86_64/chains/gcc/{fork,exec,threads,signal,exception}.reel testdata/golden/{x86_64-jit,aarch64-exception,i386-orders}.reel; do
    [ -e "$capture" ] || continue
    cp "$capture" "$work/calm.reel"
    "$O/bench/storm" 20000 "$capture" "$work/storm.reel"
    count $? "storm $capture"
    same "$capture" script FILE
    same "$capture" script -j 1 -
    same "$capture" report FILE
    same "$capture" script --time 1ms..20ms FILE
    same "$capture" report --time ..10ms FILE
    # The message lists the choices in all samples, including those outside of --time.
    for kind in calm storm; do
        "$tool" script --time ..1ms --pid 4000000 --no-host-files "$work/$kind.reel" 2>&1 >"$work/out" | sed "s,$work/$kind,FILE," >"$work/$kind.err"
    done
    grep -q 'selects no samples; available:' "$work/calm.err" && cmp -s "$work/calm.err" "$work/storm.err"
    count $? "$capture: --pid and --time without matches: $(head -n 2 "$work/storm.err")"
    same "$capture" info --all-modules FILE
    "$tool" cut --time 0..60 -q -o "$work/cut.reel" "$work/storm.reel" 2>"$work/err" && mv "$work/cut.reel" "$work/storm.reel"
    count $? "$capture: cut"
    same "$capture, cut" script FILE
done

# peak FILE COMMAND...: peak memory in KB
peak() {
    local file=$1
    shift
    "$O/bench/measure" "$work/taken" "$tool" "$@" "${files[@]}" "$file" >/dev/null 2>"$work/err" && cut -d' ' -f4 "$work/taken"
}

# info unwinds a part of a long capture and says so, unless --full is given.
make -s "$O/bench/repeat" >"$work/log" 2>&1 || cat "$work/log"
"$O/bench/repeat" 40 testdata/x86_64/chains/gcc/exception.reel "$work/long.reel" 50000
count $? "make a long capture"
info() {
    "$tool" info "$@" "${files[@]}" "$work/long.reel" >"$work/out" 2>"$work/err"
}
info
has out '^samples  *([0-9,]+) in .*, [0-9,]+ unwound \(use --full for all\)$' '^Why traces ended \([0-9,]+ unwound\)$' '^Modules of these traces: '
[ "$(sed -nE 's/^Why traces ended \(([0-9]+) unwound.*/\1/p' "$work/out")" -gt 100 ]
count $? "info unwinds a few hundred samples"
for options in --full '--min-complete 1' '--pid 1-4000000' '--time 0..1h'; do
    # shellcheck disable=SC2086
    case $options in --pid*) options="--pid $("$tool" script "${files[@]}" "$work/long.reel" | sed -nE '1s,^\S+ +([0-9]+)/.*,\1,p')" ;; esac
    # shellcheck disable=SC2086
    info $options
    has out '^Why traces ended$' '^Modules: '
done
samples=$("$tool" script "${files[@]}" "$work/long.reel" | grep -c '^[^[:space:]].*:$')
info --full
has out "^samples  *$(sed ':a;s/\B[0-9]\{3\}\>/,&/;ta' <<<"$samples") in [^,]*$"
# Of an unfinished capture as well, whose samples are counted: damage of any of its blocks is found then.
size=$(stat -c %s "$work/long.reel")
head -c $((size * 9 / 10)) "$work/long.reel" >"$work/cut" && mv "$work/cut" "$work/long.reel"
info --full
counted=$(grep '^samples ' "$work/out") problems=$(sed '1,/^Problems of the file$/d' "$work/out")
info
has out "^$counted, [0-9,]+ unwound \\(use --full for all\\)$" '^Why traces ended \([0-9,]+ unwound\)$'
[ -n "$problems" ] && [ "$(sed '1,/^Problems of the file$/d' "$work/out")" = "$problems" ]
count $? "the same problems as by --full: $problems"
for part in 3 5 8; do
    cp "$work/long.reel" "$work/whole.reel"
    printf XY | dd of="$work/long.reel" bs=1 seek=$((size * part / 10)) conv=notrunc status=none
    info
    has out "^  .*long.reel: block [0-9]+ at offset [0-9]+: wrong payload checksum$"
    mv "$work/whole.reel" "$work/long.reel"
done
# 1,000 samples of 9 blocks with 500 MB of stacks, with the same share of complete traces as all.
"$O/bench/repeat" 30 testdata/x86_64/chains/gcc/deep.reel "$work/long.reel" 60000000
count $? "make a capture with large blocks"
info
has out '^samples  *6,480 in .*, [0-9,]+ unwound \(use --full for all\)$'
unwound=$(sed -nE 's/^Why traces ended \((.*) unwound\)$/\1/p' "$work/out" | tr -d ,)
[ "${unwound:-0}" -gt 800 ] && [ "$unwound" -lt 1200 ]
count $? "info unwinds 1,000 samples: ${unwound:-none}"
complete() { sed -nE 's/^ *([0-9.]+) % .*: complete$/\1/p' "$work/out"; }
part=$(complete)
info --full
awk -v a="$part" -v b="$(complete)" 'BEGIN { exit !(a != "" && b != "" && a - b < 3 && b - a < 3) }'
count $? "complete traces: $part % of a part, $(complete) % of all"

capture=testdata/x86_64/chains/gcc/fork.reel
"$O/bench/storm" 20000 $capture "$work/short.reel" && "$O/bench/storm" 200000 $capture "$work/long.reel"
count $? "200,000 processes"
for command in script report info; do
    short=$(peak "$work/short.reel" $command) long=$(peak "$work/long.reel" $command)
    # Replay needs 16 bytes per process while it looks for parents, and hundreds for each process that it keeps.
    [ -n "$short" ] && [ -n "$long" ] && [ "$long" -le $((short + short / 10 + 12000)) ]
    count $? "$command: ${short:-no} KB, ${long:-no} KB with 180,000 processes more"
done
finish
