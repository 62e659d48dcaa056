#!/bin/bash
# import-guests.sh [--quick] [CELL...] - perf.data of other CPUs, recorded by their own perf, imported and replayed here
#
# Debian's perf records orders on other kernels and CPUs (tests/vm/perf.sh), including big-endian s390x.
# Checks that every chain is one that the program can have (orders_chains.py), and that every sample's addresses are those of the guest's
# perf script (import_guests.py, which lists allowed differences).  Some chains cannot be checked:
#   - fp on s390x and riscv64: the C library has no frame pointers, so the kernel's chains are broken there;
#     they must equal perf's. arm64's are repaired with the link register, and must be right.
#   - samples without stack bytes, if the kernel could not read them; at most as many as the recording states.
#   - s390x: the start of a static program sorts in a leaf that saves r15 in f0 (`_dlfo_sort_mappings`), and a sample's floating-point
#   registers
#     are outdated, since the kernel does not store them first (there f0 is not r15 + 192).
#   - the vDSO's frames if a recording has no build-ids (-z, a pipe), so that the vDSO could not be copied.
#   - glibc's trampoline for lazy binding on riscv64, whose CFI (`readelf --debug-dump=frames`) describes neither the 144 bytes by which it
#     moves sp nor the location of ra.
#
#   --quick             only s390x, and half the time
#   $SECONDS_OF_CPU     how long orders runs (2; quick 1)
#   $KEEP               a folder for the recordings, which are reused if they exist
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
export O=${O:-build}
cells=(arm64-6.12 s390x-6.12 riscv64-6.12) modes="dwarf kernel fp z pipe" seconds=${SECONDS_OF_CPU:-2}
if [ "${1-}" = --quick ]; then
    cells=(s390x-6.12) modes="dwarf fp" seconds=${SECONDS_OF_CPU:-1}
    shift
fi
[ $# = 0 ] || cells=("$@")
passed=0 failed=0 skipped=0
work=$(mktemp -d "${TMPDIR:-/var/tmp}/import-guests.XXXXXX")
trap 'rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8

check() {
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $2"
    fi
}

replay() {
    local command=$1
    shift
    mkdir -p "$dir/usr/lib/debug" # may be missing in the guest
    "$O/stackreel" "$command" -q --no-host-files --symfs "$dir" --debug-dir "$dir/usr/lib/debug" "$@"
}

# lines REGEX: the number of samples whose stack matches.
lines() {
    grep -E "$1" "$work/folded" | awk '{ n += $NF } END { print n + 0 }'
}

# chains: all are right, except those that cannot be checked.
chains() {
    local empty=0 ran_out known
    local cannot='^\[incomplete: ((module missing|no progress)\];\[vdso\]|register unknown\];_dl_runtime_resolve;|stack bytes ran out\];_dl_find_object_init;_dlfo_sort_mappings)'
    replay folded "$work/capture" >"$work/folded" || return
    empty=$("$O/stackreel" dump -q "$work/capture" | grep -c ' SAMPLE .*regions=\[{kind=0 [^}]* size=0 missing=\[\]')
    known=$(lines "$cannot")
    ran_out=$(($(lines '^\[incomplete: stack bytes ran out\];') - $(lines '^\[incomplete: stack bytes ran out\];_dl_find_object_init;_dlfo')))
    grep -vE "$cannot|^\[incomplete: stack bytes ran out\];" "$work/folded" >"$work/whole"
    # A few samples need not cover all of the program: only wrong chains fail.
    tests/chains/orders_chains.py <"$work/whole" >"$work/chains"
    sed -n 's/^/    /;1p;/wrong:/p' "$work/chains"
    [ "$ran_out$known" = 00 ] || echo "    not checked: $ran_out of the $empty samples without a byte of stack; $known in the vDSO, lazy binding, f0"
    [ "$ran_out" -le "$empty" ] && awk 'NR == 1 { exit !($1 == $3 && $1 >= 30) }' "$work/chains"
}

# mode CELL MODE: one recording.
mode() {
    local allow=longer
    echo "$1 $2:"
    HOME=$dir "$O/stackreel" import -q --raw-stacks -o "$work/capture" "$dir/$2.data" 2>"$work/err"
    check $? "$1 $2: import: $(tail -n 1 "$work/err")"
    case $1:$2 in
    *:kernel | s390x*:fp | riscv64*:fp) ;;
    *)
        chains
        check $? "$1 $2: chains"
        ;;
    esac
    case $1:$2 in
    arm64*:fp) allow="link register" ;;
    arm64*) allow="longer,link register" ;;
    s390x*) allow="longer,no frame,vdso" ;;
    riscv64*) allow="longer,no frame" ;;
    esac
    [[ $1:$2 != [sr]*:fp ]] || allow=
    replay script --ns "$work/capture" >"$work/ours"
    "$O/stackreel" dump -q "$work/capture" >"$work/records"
    tests/truth/import_guests.py --symfs "$dir" --records "$work/records" --allow "$allow" "$work/ours" "$dir/$2.script" >"$work/compared"
    check $? "$1 $2: against perf script"
    sed 's/^/    /' "$work/compared"
}

for cell in "${cells[@]}"; do
    dir=${KEEP:-$work}/$cell
    if [ ! -e "$dir/perf.version" ]; then
        MODES=$modes SECONDS_OF_CPU=$seconds tests/vm/perf.sh "$cell" "$dir" >"$work/log" 2>&1
        status=$?
        if [ $status = 77 ]; then
            echo "skip: $cell: $(tail -n 1 "$work/log")"
            skipped=$((skipped + 1))
            continue
        fi
        [ $status = 0 ] || tail -n 20 "$work/log"
        check $status "$cell: recording"
        [ $status = 0 ] || continue
    fi
    echo "$cell: $(head -n 1 "$dir/perf.version")"
    for one in $modes; do
        if [ ! -e "$dir/$one.data" ]; then
            echo "skip: $cell $one: not supported by its perf"
            skipped=$((skipped + 1))
            continue
        fi
        mode "$cell" "$one"
    done
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
