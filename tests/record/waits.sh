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

# As tests/count.sh's, but the output is in the file found.
ok() {
    local name=$1
    shift
    "$@" >found 2>&1
    count $? "$name: $(head -n 20 found)"
}
