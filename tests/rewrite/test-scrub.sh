#!/bin/bash
# Scrubbing removes the data that programs work with, and keeps the traces.
#
#   tests/rewrite/test-scrub.sh     O=DIR   the object directory (build)
#   LONG=1                  also tests workloads and every mode of the programs with known call chains, recorded
#                           raw for that, and secrets in guests of arm64 and s390x
#
# Prints how many captures and samples were compared, and how many differ; how often a random word looks like an
# address, counted and computed; and how many pieces of a program's secrets (programs/secrets.c) are found.
# Looking for secrets needs root and BPF.
# run.sh: guests thorough longer
# checks: format/scrub replay/unwind
# shellcheck disable=SC2317
. "$(dirname "$0")/../count.sh"
compare=$O/tests/rewrite/scrub_compare chance=$O/tests/rewrite/scrub_chance
for program in "$stackreel" "$compare" "$chance"; do
    [ -x "$program" ] || { skip "$program is not built"; finish; }
done

# ok NAME COMMAND...: prints the command's output.
ok() {
    local name=$1 status
    shift
    "$@" >"$work/out" 2>&1
    status=$?
    count $status "$name"
    sed "s|^|    |; s|$work/||" "$work/out" | head -n 40
}

# ---- the same traces -------------------------------------------------------------------

captures=0 samples=0 differences=0 number=0

# same NAME SYMFS CAPTURE...
same() {
    local name=$1 symfs=$2 c s d
    shift 2
    [ -z "${LONG-}" ] || in_share $((number++)) || return 0
    echo "$name"
    ok "$name: traces" "$compare" "$work/scrubbed.reel" "$symfs" "$@"
    read -r c s d < <(sed -nE 's/^([0-9]+) captures, ([0-9]+) samples, ([0-9]+) differences, .*/\1 \2 \3/p' "$work/out")
    captures=$((captures + ${c:-0})) samples=$((samples + ${s:-0})) differences=$((differences + ${d:-0}))
}

for archive in testdata/*/chains/symfs.tar.xz; do
    cpu=${archive#testdata/} cpu=${cpu%%/*}
    tests/matrix/unpack.sh "$cpu" "$work/$cpu" || { count 1 "$cpu: unpacking"; continue; }
    same "$cpu" "$work/$cpu" testdata/"$cpu"/chains/*/*.reel
    rm -rf "${work:?}/$cpu"
done
for file in testdata/*/orders/orders.reel; do same "$file" "${file%/*}" "$file"; done
for folder in testdata/*/perf; do
    for mode in dwarf fp; do
        "$stackreel" import -q --raw-stacks -o "$work/$mode.reel" "$folder/$mode.data" 2>"$work/err" || count 1 "$folder/$mode.data: import"
    done
    same "$folder" "$folder" "$work/dwarf.reel" "$work/fp.reel"
done

can_record=
if [ ! -x "$recorder" ]; then
    skip "recording: $recorder is not built"
elif [ "$(id -u)" != 0 ]; then
    skip "recording: not root"
elif "$recorder" -q -o "$work/probe.reel" -- true 2>"$work/err"; then
    can_record=yes
else
    skip "recording: $(head -n 1 "$work/err")"
fi

# All workloads, and all modes in some variants, including 32-bit ones.
compare_long() {
    local name command dir mode modes
    for name in exceptions recursion threads signals sqlite python compile; do
        if ! command=$(tests/truth/workloads.sh $name 2>"$work/err"); then
            skip "$name: $(tail -n 1 "$work/err")"
            continue
        fi
        eval "nice $recorder -q -F 999 --raw-stacks -o $work/work.reel -- $command" >"$work/log" 2>&1
        same "$name" "" "$work/work.reel"
    done
    while read -r dir flags; do
        if [ "$dir" = i386-static ] && ! runs_i386; then
            skip "$dir: the kernel cannot execute 32-bit programs, or no compiler can build them"
            continue
        fi
        # shellcheck disable=SC2086 # lists of words
        tests/chains/build.sh "$work/$dir" ${flags/\|*/} >"$work/err" 2>&1 || { skip "$dir: $(tail -n 1 "$work/err")"; continue; }
        modes=$("$work/$dir/chains")
        mkdir "$work/$dir-reels"
        for mode in $modes cut; do
            RECORD_OPTIONS=--raw-stacks tests/chains/record.sh "$recorder" "$work/$dir" "$mode" "$work/$dir-reels/$mode"
        done
        same "chains, $dir" "" "$work/$dir-reels"/*.reel
    done <<-END
	gcc gcc g++ -O2 -fomit-frame-pointer
	clang clang clang++ -O2 -fomit-frame-pointer
	gcc-O0 gcc g++ -O0
	static gcc g++ -O2 -fomit-frame-pointer -static
	i386-static i686-linux-gnu-gcc i686-linux-gnu-g++ -O2 -fomit-frame-pointer -static
	END
}
[ -z "${LONG-}" ] || [ -z "$can_record" ] || compare_long
echo "compared: $captures captures, $samples samples, $differences differences"

# ---- the command --------------------------------------------------------------------------

orders=testdata/i386/orders/orders.reel

# lines FILE: its records, without what differs between files.
lines() {
    "$stackreel" dump -q --json --bytes "$1" | grep -v '"record": "\(INDEX_ENTRY\|DIGEST\|SAMPLE_LAYOUT\)"' | sed -E 's/"block[a-z_]*": [0-9]+, //g'
}

run 2 "$stackreel" scrub $orders
says 'no output file; use -o FILE'
cp $orders "$work/a.reel"
run 2 "$stackreel" scrub -o "$work/a.reel" "$work/a.reel"
cmp -s $orders "$work/a.reel"
count $? "scrubbing a capture onto itself fails and leaves it unchanged"
# labels FILE: the labels of each sample that has some.
labels() { "$stackreel" dump -q --json "$1" | sed -n 's/.*"labels": \[\(.*\)\], "runtime_frames".*/\1/p'; }
"$stackreel" scrub -q -o "$work/labels.reel" testdata/format/good-labels.reel 2>"$work/err"
[ "$(labels testdata/format/good-labels.reel | grep -cE '\[(1000|40000),')" = 2 ] && [ "$(labels "$work/labels.reel" | grep -c .)" = 3 ] &&
    ! labels "$work/labels.reel" | grep -E '\[[0-9]{3}'
count $? "unknown and private labels are left out, those of locks stay: $(labels "$work/labels.reel")"
"$stackreel" scrub -q -o "$work/labels.reel" testdata/format/good-values.reel
[ "$(labels "$work/labels.reel")" = '[26, "shop"]' ]
count $? "of probes, requests and variables, only the service stays: $(labels "$work/labels.reel")"
run 0 "$stackreel" scrub -o "$work/b.reel" "$work/a.reel"
says '1,687 samples'
run 0 "$stackreel" scrub -q -o - "$work/b.reel"
mv "$work/out" "$work/c.reel"
cmp -s <(lines "$work/b.reel") <(lines "$work/c.reel")
count $? "scrubbing twice equals scrubbing once"
# END has counts that are specific to its file.
others() { lines "$1" | grep -v '"record": "SAMPLE"' | sed -E '/"record": "END"/s/, "side_records": [0-9]+//'; }
cmp -s <(others "$work/a.reel") <(others "$work/b.reel")
count $? "all other records are unchanged"
[ "$("$stackreel" dump -q --json "$work/b.reel" | grep -c '"record": "SAMPLE".*"flags": [2367],')" = 1687 ]
count $? "each sample is marked as scrubbed"
run 0 "$stackreel" info -q "$work/b.reel"
grep -q '^stacks  *scrubbed' "$work/out"
count $? "info reports scrubbed stacks"
run 0 "$stackreel" info -q "$work/a.reel"
grep -q '^stacks  *raw' "$work/out"
count $? "info reports raw stacks"
run 0 "$stackreel" scrub -q --no-cmdline -o "$work/c.reel" "$work/a.reel"
"$stackreel" info -q "$work/a.reel" | grep -q '^command line .*orders' && "$stackreel" info -q "$work/c.reel" | grep -q '^command line  *unknown'
count $? "--no-cmdline removes the command line"
head -c 60000 "$work/a.reel" >"$work/cut.reel"
run 1 "$stackreel" scrub -o "$work/c.reel" "$work/cut.reel"
[ "$("$stackreel" dump -q --json "$work/c.reel" 2>"$work/err" | grep -c '"record": "SAMPLE"')" = \
    "$("$stackreel" dump -q --json "$work/cut.reel" 2>"$work/err" | grep -c '"record": "SAMPLE"')" ]
count $? "scrubs the readable part of a truncated file"
run 0 "$stackreel" keygen -o "$work/key"
run 0 "$stackreel" scrub -q --encrypt-to "$("$stackreel" keygen -y "$work/key")" -o "$work/e.reel" "$work/a.reel"
run 0 "$stackreel" scrub -q --decrypt --identity "$work/key" -o "$work/c.reel" "$work/e.reel"
cmp -s <(lines "$work/b.reel") <(lines "$work/c.reel")
count $? "encrypting, then scrubbing again gives the same capture"
run 1 "$stackreel" scrub -o "$work/no.reel" "$work/err"
[ ! -e "$work/no.reel" ]
count $? "a failing command leaves no file"

# ---- counters that CFI reads --------------------------------------------------------------------------

# chains_are LEAF CAPTURE REGEX: every sample in that function has such a chain in the output of `folded`.
chains_are() {
    "$stackreel" folded -q "$2" | grep -E "(^|;)$1 [0-9]+$" >"$work/folded"
    REGEX="^($3) [0-9]+$" awk '$0 ~ ENVIRON["REGEX"] { good += $NF; next } { print; bad += $NF }
        END { printf "%d samples, %d others\n", good, bad; exit !(good > 50 && !bad) }' "$work/folded"
}

find_counts() {
    local mode whole='[^[]*;main;caller;counted' on_signal=';[^;]+;on_trap'
    echo "counts"
    ${CC:-cc} -O2 -Wall -Wextra -Werror -o "$work/counted" tests/programs/counted.c || { count 1 "counted.c"; return; }
    for mode in spin trap; do
        "$recorder" -q -F 4999 --raw-stacks -o "$work/$mode.reel" -- "$work/counted" $mode 1000000000 2>"$work/err" &&
            "$recorder" -q -F 4999 -o "$work/$mode-live.reel" -- "$work/counted" $mode 1000000000 2>"$work/err" &&
            "$stackreel" scrub -q -o "$work/$mode-later.reel" "$work/$mode.reel" 2>"$work/err"
        count $? "counted $mode: recording"
    done
    ok "a count: raw" chains_are counted "$work/spin.reel" "$whole"
    ok "a count: recorded" chains_are counted "$work/spin-live.reel" "$whole"
    ok "a count: scrubbed later" chains_are counted "$work/spin-later.reel" "$whole"
    same "a count" "" "$work/spin.reel"
    # In a signal frame the counter is a word of the stack.
    ok "a count, interrupted: raw" chains_are on_trap "$work/trap.reel" "$whole$on_signal"
    ok "a count, interrupted: recorded" chains_are on_trap "$work/trap-live.reel" "$whole$on_signal"
    ok "a count, interrupted: scrubbed later" chains_are on_trap "$work/trap-later.reel" "$whole$on_signal"
}
if [ -z "$can_record" ]; then
    skip "counts: cannot record here"
elif [ "$(uname -m)" != x86_64 ]; then
    skip "counts: only x86-64 code has one"
else
    find_counts
fi

# ---- chance -----------------------------------------------------------------------------------

echo "random words that look like addresses"
chances=2
[ -z "${LONG-}" ] || ! in_share 0 || chances=102
ok "chance" "$chance" $chances $orders testdata/x86_64/chains/{gcc,no-pie}/tiny.reel testdata/x86_64/chains/gcc/exception.reel testdata/aarch64/chains/{pauth,no-pie}/tiny.reel

# ---- secrets -----------------------------------------------------------------------------------

# secrets NAME OPTION... -- RECORDER-OPTION...: records the program with RECORDER-OPTIONs, and checks it with OPTIONs.
secrets() {
    local name=$1 options=()
    shift
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    "$recorder" -q -F 4999 "$@" -o "$work/secrets.reel" -- "$work/secrets" 100000000 >"$work/secrets.txt" 2>"$work/err"
    count $? "$name: recording: $(head -n 1 "$work/err")"
    ok "$name" tests/rewrite/secrets_check.py "${options[@]}" "$work/secrets.txt" "$work/secrets.reel"
}

find_secrets() {
    echo "secrets"
    ${CC:-cc} -O2 -Wall -Wextra -Werror -g -pthread -o "$work/secrets" tests/programs/secrets.c || { count 1 "secrets.c"; return; }
    secrets "recorded raw" --raw -- --raw-stacks
    "$stackreel" scrub -q -o "$work/later.reel" "$work/secrets.reel"
    ok "scrubbed later" tests/rewrite/secrets_check.py --scrubbed "$work/secrets.txt" "$work/later.reel"
    "$stackreel" scrub -q --keep 'send_message:message->length' --keep send_message:message -o "$work/kept.reel" "$work/secrets.reel" 2>"$work/err"
    count $? "scrubbed with --keep: $(head -n 1 "$work/err")"
    ok "scrubbed with --keep" tests/rewrite/secrets_check.py --scrubbed "$work/secrets.txt" "$work/kept.reel"
    cmp <("$stackreel" values 'send_message:message->length' "$work/secrets.reel") <("$stackreel" values 'send_message:message->length' "$work/kept.reel") >"$work/out" 2>&1 &&
        "$stackreel" values 'send_message:message->length' "$work/kept.reel" | grep -q ' 4711 '
    count $? "scrubbed with --keep: the value between secrets is the same"
    ! tests/rewrite/secrets_check.py --scrubbed "$work/secrets.txt" "$work/secrets.reel" >"$work/out" 2>&1
    count $? "the check finds secrets in a raw capture"
    secrets "recorded" --scrubbed --
    secrets "recorded with --scrub" --scrubbed -- --raw-stacks --scrub -g --fp
    # Samples kept for the next part take a different code path.
    "$recorder" -q -F 4999 --rotate 150ms -o "$work/parts.reel" -- "$work/secrets" 600000000 >"$work/secrets.txt" 2>"$work/err"
    count $? "parts: recording: $(head -n 1 "$work/err")"
    [ "$(find "$work" -name 'parts.*.reel' | wc -l)" -gt 2 ]
    count $? "several parts"
    checked=0
    for part in "$work"/parts.*.reel; do
        # The last part, and any part on a busy host, may have no samples.
        "$stackreel" dump -q --json "$part" | grep -q '"record": "SAMPLE"' || continue
        ok "${part##*/}" tests/rewrite/secrets_check.py --scrubbed "$work/secrets.txt" "$part"
        checked=$((checked + 1))
    done
    [ "$checked" -gt 1 ]
    count $? "samples in several parts"
    "$recorder" -q --no-cmdline -o "$work/secrets.reel" -- "$work/secrets" 1000 correct-horse-battery >"$work/secrets.txt" 2>"$work/err"
    ! zstd -dcq "$work/secrets.reel" | grep -q correct-horse
    count $? "--no-cmdline: no arguments in the file"
    "$recorder" -q -o "$work/secrets.reel" -- "$work/secrets" 1000 correct-horse-battery >"$work/secrets.txt" 2>"$work/err"
    [ "$(zstd -dcq "$work/secrets.reel" | grep -ac correct-horse)" = 1 ]
    count $? "without --no-cmdline: arguments in the command line"
}

# Other CPUs: their stacks have no red zone, so data that a function leaves below the stack pointer is not recorded.
guest_secrets() {
    local cell=$1
    RECORD_OPTIONS="-F 999 --raw-stacks" tests/vm/record.sh "$cell" "$work/$cell-raw" secrets 20000000 >"$work/err" 2>&1 || {
        skip "$cell: $(tail -n 1 "$work/err")"
        return
    }
    ok "$cell: recorded raw" tests/rewrite/secrets_check.py --raw --optional stack-dead "$work/$cell-raw/secrets.printed" "$work/$cell-raw/secrets.reel"
    "$stackreel" scrub -q -o "$work/later.reel" "$work/$cell-raw/secrets.reel"
    ok "$cell: scrubbed later" tests/rewrite/secrets_check.py --scrubbed "$work/$cell-raw/secrets.printed" "$work/later.reel"
    LONG="" same "$cell: secrets" "$work/$cell-raw" "$work/$cell-raw/secrets.reel"
    RECORD_OPTIONS="-F 999" tests/vm/record.sh "$cell" "$work/$cell" secrets 20000000 >"$work/err" 2>&1
    ok "$cell: recorded" tests/rewrite/secrets_check.py --scrubbed "$work/$cell/secrets.printed" "$work/$cell/secrets.reel"
}
if [ -n "${LONG-}" ]; then
    for cell in arm64-6.12 s390x-6.12; do in_share $((number++)) && guest_secrets $cell; done
fi

if [ -z "$can_record" ]; then
    skip "secrets: cannot record here"
elif ! command -v zstd >/dev/null; then
    skip "secrets: zstd is not installed"
else
    find_secrets
fi
finish
