# Sourced by the tests of threads that wait, instead of recording.sh, which it includes; makes $O absolute.
. tests/record/recording.sh
O=${recorder%/*}

# needs_to_wait PROGRAM...: builds tests/programs/PROGRAM.c, and makes probe.reel of a program that does not wait. A host that can record can
# also record waits: a BPF program that the kernel refuses is a failure.
needs_to_wait() {
    local program
    needs_to_record
    for program; do
        "${CC:-cc}" -D_GNU_SOURCE -O2 -g -fno-inline-functions-called-once -pthread -o "$program" "$tests/programs/$program.c" || { failed=1; finish; }
    done
    record -q -e off-cpu -o probe.reel -- true && return
    count 1 "records threads that wait"
    finish
}

# about NUMBER LOW HIGH
about() {
    echo "$1, not $2 to $3"
    awk -v n="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(n >= low && n <= high) }'
}

# seconds CAPTURE...: of the event off-cpu
seconds() {
    local capture
    for capture; do "$stackreel" export -q --format=csv --event off-cpu -o - "$capture"; done | awk -F, '$5 == "off-cpu" { n += $7 } END { printf "%.3f\n", n / 1e9 }'
}

# start_to_sleep: a process, added to started, that waits by now
start_to_sleep() {
    sleep 600 &
    started+=($!)
    until grep -q '^Name:.sleep$' /proc/$!/status && grep -q '^State:.S' /proc/$!/status; do sleep 0.02; done
}

# length CAPTURE...: the seconds from the first one's start to the last one's end, by the recorder's clock; on a busy host, more than were asked
# for
length() {
    local capture
    for capture; do "$stackreel" dump -q "$capture"; done | sed -nE 's/.* CAPTURE start_time=([0-9]+).*/\1/p; s/.* END time=([0-9]+).*/\1/p' |
        awk 'NR == 1 { begin = $1 } { end = $1 } END { printf "%.3f\n", (end - begin) / 1e9 }'
}

# As tests/count.sh's, but the output is in the file found.
ok() {
    local name=$1
    shift
    "$@" >found 2>&1
    count $? "$name: $(head -n 20 found)"
}
