#!/bin/bash
# What other users' processes can do to a recorder of the whole machine: delay its reads of their data, forge their vDSO, or map devices.
# Inspects files with the independent reader. Needs root, BPF and FUSE.
# run.sh: records thorough
# checks: record/processes
. "$(dirname "$0")/../count.sh"
check=$PWD/tests/record/record_check.py
reader=$PWD/tests/reader/reel_reader.py
chmod 755 "$work"
started=()
cleanup() {
    [ ${#started[@]} = 0 ] || kill -9 "${started[@]}" 2>/dev/null
    umount "$work/mounted" 2>/dev/null
    rm -rf "$work"
}
trap cleanup EXIT

[ -x "$recorder" ] || { skip "$recorder is not built"; finish; }
[ "$(id -u)" = 0 ] || { skip "not root"; finish; }
cc=${CC:-cc}
for program in busy hold_up see_opens map_files; do
    $cc -O2 -g -pthread -o "$work/$program" "tests/programs/$program.c" || { failed=1; finish; }
done
forge=$PWD/tests/programs/forge_vdso.c
cd "$work" || exit 1
"$recorder" -o probe.reel -- true 2>err
[ -s probe.reel ] || { skip "recording: $(head -n 1 err)"; finish; }

# record LIMIT ARGUMENT...: status 124 if it exceeds the time limit and is killed. The summary is in err.
record() {
    timeout -k 10 "$@" 2>err
}

# few_lost: at most 5 % of the samples are lost.
few_lost() {
    awk '/ samples?, .* lost, / {
        gsub(",", ""); for (i = 2; i <= NF; i++) { if ($i ~ /^samples?$/) samples = $(i - 1); if ($i == "lost") lost = $(i - 1) }
        exit !(samples > 0 && lost * 19 <= samples) }' err
}

# ---- reads that block forever -----------------------------------------------------------------

# hold_up HOW: sets $waiting, the process that is blocked, and $holder, the one that blocks it; false if this is not possible here.
hold_up() {
    : >holds
    ./hold_up "$1" "$work/fuse" "$work/mounted" "$work/forge32" >holds 2>err &
    holder=$!
    started+=("$holder")
    for _ in {1..50}; do
        waiting=$(cat holds)
        [ -z "$waiting" ] || return 0
        kill -0 "$holder" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

let_go() {
    kill "$holder" 2>/dev/null
    wait "$holder" 2>/dev/null
    umount "$work/mounted" 2>/dev/null
}

# maps_hang: whether reading the mappings of $waiting blocks.
maps_hang() {
    sleep 0.5
    timeout 1 cat "/proc/$waiting/maps" >out 2>&1
    [ $? = 124 ]
}

# build_forge BITS: builds forge$BITS.
build_forge() {
    $cc -m"$1" -O2 -static -nostdlib -fno-pie -no-pie -fno-stack-protector -o "forge$1" "$forge" 2>err
}

mkdir -m 777 mounted
mknod -m 666 fuse c 10 229
for how in flush write vdso stack file; do
    if [ $how = vdso ] && ! { runs_i386 && build_forge 32; }; then
        skip "$how: the kernel cannot execute 32-bit programs, or no compiler can build them"
        continue
    fi
    if ! hold_up $how; then
        skip "$how: $(head -n 1 err)"
        continue
    fi
    case $how in
    flush | write) maps_hang || { skip "$how: reading its /proc files does not block" && let_go; continue; } ;;
    esac
    ./busy spin 30 &
    busy=$!
    started+=("$busy")
    # Without build-ids from the kernel, the recorder reads every mapped file.
    record 12 "$recorder" -a --no-build-id-events --duration 2 -o x.reel
    count $? "$how: the recording finishes in time"
    ok "$how: ... and has the other processes' samples" "$check" x.reel complete reason=2 comm=busy placed=90 samples=100
    ok "$how: ... with few losses" few_lost
    case $how in
    flush | file) ok "$how: reports skipped data" grep -qE 'did not answer in time|mappings? (and names|or name) left out' err ;;
    esac
    # Looks read the memory of waiting processes.
    record 12 "$recorder" -e off-cpu -a --no-build-id-events --duration 2 -o y.reel
    count $? "$how: a recording of waiting threads finishes in time"
    ok "$how: ... and has this shell's wait" bash -c "'${recorder%-record}' export -q --format=csv --pid $$ -o - y.reel | awk -F, '{ n += \$7 } END { exit !(n > 1e9) }'"
    if [ $how = flush ]; then
        record -s TERM 3 "$recorder" -a -o x.reel
        ok "$how: SIGTERM ends it" "$check" x.reel complete reason=1
    fi
    kill $busy
    wait $busy 2>/dev/null
    let_go
done

# ---- forged vDSOs ----------------------------------------------------------

# vdso_images FILE: words and bytes of each vDSO image in it.
vdso_images() {
    python3 "$reader" "$1" >records.json || return 1
    python3 - <<'END'
import json
modules, images = {}, {}
for line in open("records.json"):
    record = json.loads(line)
    if record["record"] == "MODULE":
        modules[record["id"]] = record["path"]
    elif record["record"] == "IMAGE":
        images[record["module"]] = images.get(record["module"], "") + record["bytes"]
for module, image in images.items():
    if modules[module] == "[vdso]":
        print({"01": 32, "02": 64}[image[8:10]], image)
END
}

same_vdso() {
    local bits=$1
    vdso_images forged.reel >forged && vdso_images honest.reel >honest || return 1
    if ! grep "^$bits " honest >wanted || ! grep -qFxf wanted forged; then
        echo "no $bits-bit image from the kernel"
        return 1
    fi
    ! grep -q "$(printf 'FORGED' | od -An -tx1 | tr -d ' \n')" forged
}

case $(uname -m) in
x86_64)
    # 32 bits: any running program that does not write to its vDSO.
    printf '.globl _start\n_start: mov $-1, %%ecx\n1: dec %%ecx\njnz 1b\njmp _start\n' >honest.s
    for bits in 64 32; do
        if ! build_forge $bits || ! $cc -m$bits -static -nostdlib -no-pie -o spin honest.s 2>>err; then
            skip "a forged $bits-bit vDSO: $(head -n 1 err)"
            continue
        fi
        for program in forge$bits spin; do
            ./$program &
            pid=$!
            started+=("$pid")
            sleep 0.2
            if ! kill -0 $pid 2>/dev/null; then
                skip "a forged $bits-bit vDSO: cannot run ./$program"
                continue 2
            fi
            record 12 "$recorder" -p $pid --duration 0.5 -o $([ $program = spin ] && echo honest || echo forged).reel
            kill -9 $pid
            wait $pid 2>/dev/null
        done
        ok "a forged $bits-bit vDSO: the image is the kernel's" same_vdso $bits
        # The program starts during the recording.
        record 12 "$recorder" -o forged.reel -- timeout 1 ./forge$bits
        ok "... for a program started during the recording" same_vdso $bits
    done
    ;;
*) skip "a forged vDSO: the program is for x86" ;;
esac

# ---- mappings of devices and FIFOs -----------------------------------------------------------------

# none_opened FILE...: none of them was opened while they were mapped and recorded.
none_opened() {
    ./see_opens "$@" -- "$recorder" -q -p $mapper --no-build-id-events --duration 1.5 -o x.reel >opened || return 1
    [ ! -s opened ] || { echo "opened: $(sort opened | uniq -c)" && return 1; }
}

mknod zero c 1 5
cp busy gone
./map_files zero gone >mapped 2>err &
mapper=$!
started+=("$mapper")
sleep 0.3
if [ -s mapped ]; then
    # Its path now leads to a FIFO.
    mv gone elsewhere
    mkfifo gone
    ok "does not open devices and FIFOs" none_opened zero gone
    ok "... and records the file's build-id" bash -c "python3 '$reader' x.reel | grep '\"MODULE\"' | grep elsewhere | grep -qE '\"build_id\": \"[0-9a-f]{40}\"'"
else
    skip "mapped devices: $(head -n 1 err)"
fi
kill $mapper
wait $mapper 2>/dev/null
finish
