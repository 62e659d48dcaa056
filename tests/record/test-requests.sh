#!/bin/bash
# Which request a thread works for (the labels trace and span), against a program whose functions are each called for one request only: a
# sample in work_1_2 has the ids that end in 0102, or the recorder did not know of the variable yet.
# run.sh: records thorough
# checks: bpf =record/sampling
. "$(dirname "$0")/../count.sh"
. tests/record/recording.sh
needs_to_record
source=$tests/programs/requests.c
build() {
    "${CC:-cc}" -O1 -g -Wall -Wextra -pthread -o "$@" "$source" || { failed=1; finish; }
}
build requests -Wl,--export-dynamic-symbol=otel_thread_ctx_v1
build user -DREQUESTS_LIBRARY

# labels CAPTURE [SHARE]: prints what is wrong with the labels (requests.awk)
labels() {
    "$stackreel" folded -q --by trace,span "$1" >folded || return
    awk -v share="${2:-1}" -f "$tests/record/requests.awk" folded >found
    ! [ -s found ] || { head -n 5 found; return 1; }
}

# known NAME COMMAND...: the recording begins first, and stops the program
known() {
    local name=$1
    shift
    record -q -F 1999 --duration 1.2 -o a.reel -- "$@" || { count 1 "$name: $(cat err)"; return; }
    ok "$name" labels a.reel
}

# running NAME COMMAND...: the program begins first, so that each of its samples has its request
running() {
    local name=$1 pid
    shift
    "$@" &
    pid=$!
    sleep 0.3
    record -q -F 1999 --duration 0.8 -p $pid -o a.reel || { count 1 "$name: $(cat err)"; return; }
    ok "$name, running before" labels a.reel 100
    kill $pid
    wait $pid 2>/dev/null
}

known "in the executable" ./requests 9
running "in the executable" ./requests 9
"$stackreel" report -q --stdio --by function --trace a0a1a2a3a4a5a6a7a8a9aaabacad0201 a.reel >found
ok "--trace selects a request's samples" sh -c 'grep -q work_2_1 found && ! grep -qE "work_2_2|work_1|idle" found'
"$stackreel" scrub -q -o scrubbed.reel a.reel
! "$stackreel" report -q --stdio --by trace scrubbed.reel >found 2>&1 && grep -q "no sample has the label 'trace'" found
count $? "scrub removes ids: $(head -n 3 found)"
record -q -F 1999 --duration 1.5 -o a.reel -- ./requests 9 bad
ok "invalid pointers and records have no ids" labels a.reel
ok "they were sampled" sh -c 'for bad in pointer valid trace span page; do grep -q ";bad_$bad " folded || { echo "no bad_$bad"; exit 1; }; done'
known "of a forked child" ./requests 9 fork
record -q --off-cpu=all --wakers --duration 1 -o a.reel -- ./requests 9
"$stackreel" script -q --fields labels --event off-cpu a.reel >found
ok "a wait has its waker, its request and its service" grep -qE 'waker=.* trace=a0a1.* span=fe00.* service=shop' found

case $(uname -m) in
x86_64) dialects="gnu gnu2" ;;
aarch64) dialects="trad desc" ;;
*) dialects= ;;
esac
for flags in ${dialects:+$(printf -- '-mtls-dialect=%s ' $dialects)} -ftls-model=initial-exec; do
    build library.so -DREQUESTS_PUBLISHER -fPIC -shared "$flags"
    known "in a library loaded later ($flags)" ./user 9 ./library.so
    running "in a library loaded later ($flags)" ./user 9 ./library.so
done
running "in a library that the program begins with" env LD_PRELOAD=./library.so ./user 9 ./library.so

# ---- a map instead: OTEP 4855 ------------------------------------------------------------

# mapped NAME SECONDS MAP MODE ARGUMENT...: with the map of a running program that writes the requests of its threads to it
mapped() {
    local name=$1 map=$2 pid
    ./mapped 60 "$map" "$3" &
    pid=$!
    sleep 0.3
    record -F 1999 --off-cpu=499 --duration 1 -p $pid -o map.reel "${@:4}" || count 1 "$name: $(cat err)"
    kill $pid
    wait $pid 2>/dev/null
    ok "$name" labels map.reel 100
}

# No process here knows its numbers in the kernel otherwise (include/linux/proc_ns.h: PROC_PID_INIT_INO).
if [ "$(readlink /proc/self/ns/pid)" = "pid:[4026531836]" ] && mkdir bpf && mount -t bpf bpf bpf 2>/dev/null; then
    build mapped -DREQUESTS_MAP -Wl,--export-dynamic-symbol=otel_thread_ctx_v1
    mapped "in a map" bpf/requests map --otel-map bpf/requests
    "$stackreel" cut -q --event off-cpu -o waits.reel map.reel
    ok "in a map, of waits" labels waits.reel 100
    mapped "a thread's own record and a map" bpf/requests both --otel-map bpf/requests
    record -F 1999 --duration 0.3 -p $$ --otel-map none -o map.reel
    ! grep -q "trace id" err
    count $? "--otel-map none: $(cat err)"
    ./mapped 0 bpf/wrong wrong
    fails 1 'bpf/wrong: .* values of 16 bytes \(expected .* 24\)' --otel-map bpf/wrong -o map.reel -- true
    count $? "a wrong map: $(cat err)"
    fails 1 'bpf/none: No such file' --otel-map bpf/none -o map.reel -- true
    count $? "no map: $(cat err)"
    fails 1 'mapped: not a pinned BPF map' --otel-map mapped -o map.reel -- true
    count $? "another file: $(cat err)"
    # The default, for processes that see another file system there.
    in_default() { unshare -m sh -c 'mount -t bpf bpf /sys/fs/bpf && mkdir /sys/fs/bpf/otel && ./mapped 0 /sys/fs/bpf/otel/traces_ctx_v1 $1 && shift && exec "$@"' sh "$@" 2>err; }
    in_default wrong "$recorder" -o map.reel -- true
    count $? "a wrong map at the default place does not stop a recording: $(cat err)"
    ok "... and is reported" grep -q 'no trace ids from /sys/fs/bpf/otel/traces_ctx_v1: .* 16 bytes' err
    in_default map "$recorder" -v -o map.reel -- true
    ok "the default place" grep -q 'trace ids: also from /sys/fs/bpf/otel/traces_ctx_v1' err
    umount bpf
else
    skip "a map of requests: no BPF file system, or another PID namespace"
fi

# ---- the service --------------------------------------------------------------------------

# services COMMAND...: the services of a running program's samples
services() {
    local pid
    "$@" &
    pid=$!
    sleep 0.5
    record -q -F 1999 --duration 0.5 -p $pid -o a.reel
    kill $pid
    wait $pid 2>/dev/null
    "$stackreel" script -q a.reel >found 2>err
    grep -q work_1 found || echo "no samples"
    "$stackreel" folded -q --by service,environment a.reel 2>err | cut -d ';' -f 1,2 | sort -u
}

# serves NAME WANTED COMMAND...
serves() {
    local found
    found=$(services "${@:3}")
    [ "$found" = "$2" ]
    count $? "$1: $found: $(cat err)"
}

known="service=shop;environment=staging"
serves "the service of a program" "$known" ./requests 9
serves "a service that is being changed" "" ./requests 9 torn
serves "a service whose message is too large" "" ./requests 9 huge
if zgrep -qs '^CONFIG_ANON_VMA_NAME=y' /proc/config.gz "/boot/config-$(uname -r)"; then
    serves "the service in an anonymous mapping" "$known" ./requests 9 anonymous
fi
record -q -F 1999 --duration 1.5 -o late.reel -- ./requests 9 late
"$stackreel" folded -q --by service late.reel >found
ok "a service published later" grep -q '^service=shop;.*work_1_1 ' found

record -q --off-cpu=499 --duration 1.5 -o off.reel -- ./requests 9 && "$stackreel" cut -q --event off-cpu -o waits.reel off.reel
ok "of threads that wait" labels waits.reel
ok "of waits" grep -q 'fe00000000000202;.*;wait_2_2;' folded
finish
