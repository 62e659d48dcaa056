#!/bin/bash
# Replay on other hosts: builds stackreel for CPUs of both byte orders and both word sizes, and runs it with qemu-user on all of
# testdata. Output, errors and exit status must equal those of this host's build, byte for byte (tests/hosts/cases.sh makes the list).
# Also runs the unit tests there.
#
#   O=DIR   the object directory (build)
#   HOSTS=  which hosts: s390x (big-endian) armhf (32 bits) arm64 riscv64 i386; default: only the first, as each takes minutes
#   LONG=1  all hosts, and all commands and unit tests on each, including the fuzzers
# run.sh: long thorough shares longer
# checks: replay/import replay/rewrite replay/api replay/core cli
. "$(dirname "$0")/../count.sh"
O=$(realpath "${O:-build}")
# The slowest host starts first.
hosts=${HOSTS:-s390x${LONG:+ armhf arm64 riscv64 i386}}
# A share of the long form is of one host.
if [ -n "${LONG-}" ] && [ -n "${SHARE-}" ]; then
    read -ra all <<<"$hosts"
    hosts=${all[${SHARE%/*} % ${#all[@]}]}
    SHARE=$((${SHARE%/*} / ${#all[@]}))/$(((${SHARE#*/} - 1) / ${#all[@]} + 1))
fi
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
export LC_ALL=C.UTF-8

# run_case TO COMMAND...: writes TO.out, and TO.err with the exit status
run_case() {
    local to=$1 status
    shift
    (ulimit -t 120 && exec "$@" >"$to.out" 2>"$to.err" </dev/null)
    status=$?
    # A capture: its file id is random, and the compression ratio of blocks depends on libzstd's version.
    if [[ $* == *" import "* ]] && cmp -s -n 8 "$to.out" "$work/magic"; then
        "$O/stackreel" dump --bytes - <"$to.out" 2>&1 | sed -E 's/^([0-9]+)@[0-9]+ /\1 /; s/ (offset|stored_size)=[0-9]+//g' >"$to.dump"
        mv "$to.dump" "$to.out"
    fi
    echo "exit status $status" >>"$to.err"
}

# run_here: runs each case with this host's build
run_here() {
    local n=0 case
    mkdir "$work/here"
    while read -r case; do
        n=$((n + 1))
        # The first and the middle one are for control.
        selected $n || [ $n = 1 ] || [ $n = "$middle" ] || continue
        # shellcheck disable=SC2086 # a list of words
        run_case "$work/here/$n" "$O/stackreel" $case
    done <"$work/cases"
}

# differ A B: whether the results of run_case differ, and which
differ() {
    cmp -s "$1.err" "$2.err" && cmp -s "$1.out" "$2.out" && return 1
    diff -a --label "errors here" --label "errors there" -u0 "$1.err" "$2.err" | head -n 7 | cut -c1-200
    diff -a --label "output here" --label "output there" -u0 "$1.out" "$2.out" | head -n 7 | cut -c1-200
}

# compare_cases TO COMMAND...: runs each case with COMMAND and compares it
compare_cases() {
    local to=$1 n=0 case
    shift
    while read -r case; do
        n=$((n + 1))
        [ -e "$work/here/$n.err" ] || continue
        # shellcheck disable=SC2086 # a list of words
        run_case "$to" "$@" $case
        ! differ "$work/here/$n" "$to"
        count $? "stackreel $case"
    done <"$work/cases"
}

# emulator ARCH: the command that runs programs for that CPU
emulator() {
    local cpu=$1
    case $cpu in
    arm64) cpu=aarch64 ;;
    armhf) cpu=arm ;;
    esac
    command -v "qemu-$cpu-static" || command -v "qemu-$cpu"
}

# unit_tests ARCH: the unit tests to run there; in short, not those that take long and depend on neither byte order nor word size, and not
# those of the recorder, which reads programs of its own CPU only, and of the commands, which the cases run
unit_tests() {
    local n=0 unit
    for unit in $(all_unit_tests "$1"); do selected $((n++)) "tests/unit/$unit.c" && echo "$unit"; done
}

# all_unit_tests ARCH: of all parts
all_unit_tests() {
    local all
    all=$(cd tests/unit && find . -name 'test_*.c' | sed 's|^\./||; s/\.c$//' | sort)
    case ${LONG:+long}$1 in
    long*) echo "$all" ;;
    s390x | armhf) grep -vE '^(cli|record)/|/test_(format_fuzz|import_fuzz|unwind_paths|demangle)$' <<<"$all" ;;
    esac
}

# build ARCH DIR TARGET...: prints the sysroot. The programs are linked with paths of the sysroot's loader and libraries, as qemu's -L would
# also redirect the files that they open.
build() {
    local arch=$1 dir=$2 variables sysroot libc loader
    shift 2
    variables=$(tests/vm/cross.sh "$arch") || return
    sysroot=${variables##*SYSROOT=}
    libc=$(realpath "$sysroot"/lib/*/libc.so.6)
    loader=$sysroot$(readelf -lW "$libc" | sed -n 's/.*program interpreter: \(.*\)\]/\1/p')
    # Less optimization takes less time, but gives wrong warnings.
    # shellcheck disable=SC2086 # a list of words
    make -s $variables CFLAGS="-O1 -g1" WERROR= O="$dir" LDFLAGS="-Wl,--dynamic-linker=$loader -Wl,--disable-new-dtags -Wl,-rpath,${libc%/*}" "$@" >&2 || return 1
    echo "$sysroot"
}

# add_counts FILE: adds the counts in its last line
add_counts() {
    local p f s
    read -r p f s _ < <(tail -n 1 "$1" | sed -nE '/^[0-9]+ passed, /s/[^0-9]+/ /gp')
    passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1})) skipped=$((skipped + ${s:-0}))
}

# test_host ARCH: prints the differences, and the counts at the end
test_host() {
    local arch=$1 dir=$O/hosts/$1${LONG:+-long} log=$work/$1.tests qemu sysroot status
    passed=0 failed=0 skipped=0
    if ! qemu=$(emulator "$arch"); then
        skip "$arch: qemu-user is missing (tests/vm/deps.sh hosts)"
        finish
    fi
    # tests/run.sh runs all that it finds.
    find "$dir/tests/unit" -type f -executable 2>/dev/null | grep -vxFf <(unit_tests "$arch" | sed "s|^|$dir/tests/unit/|") | xargs -r rm
    # shellcheck disable=SC2046 # a list of words
    sysroot=$(build "$arch" "$dir" "$dir/stackreel" $(unit_tests "$arch" | sed "s|.*|$dir/tests/unit/&|") 2>"$log")
    status=$?
    if [ $status = 77 ]; then
        skip "$arch: $(tail -n 1 "$log")"
        finish
    fi
    count $status "$arch: build"
    if [ $status != 0 ]; then
        tail -n 20 "$log"
        finish
    fi
    # The C library's locales, in that CPU's byte order
    export LOCPATH=$sysroot/usr/lib/locale
    compare_cases "$work/$arch" "$qemu" "$dir/stackreel"
    echo "$passed of $((passed + failed)) cases are the same"
    if [ -n "$(unit_tests "$arch")" ]; then
        env -u SHARE -u AFFECTED O="$dir" EMULATOR="$qemu" tests/run.sh -j1 --unit >"$log"
        cat "$log"
        add_counts "$log"
    fi
    finish
}

# control: whether differences are detected, by adding a byte to this host's output or errors, or changing the status.
control() {
    local n change seen
    cat >"$work/changed" <<-'END'
		#!/bin/bash
		change=$1
		shift
		"$@"
		status=$?
		case $change in
		output) printf '\n' ;;
		errors) printf '\n' >&2 ;;
		status) exit $((status + 1)) ;;
		esac
		exit $status
	END
    chmod +x "$work/changed"
    for n in 1 $middle; do
        for change in none output errors status; do
            # shellcheck disable=SC2046 # a list of words
            run_case "$work/control" "$work/changed" $change "$O/stackreel" $(sed -n ${n}p "$work/cases")
            seen=$change
            differ "$work/here/$n" "$work/control" >"$work/log" || seen=none
            [ $seen = $change ]
            count $? "detects a difference: $change"
        done
    done
}

if [ ! -x "$O/stackreel" ] || [ ! -x "$O/tests/cli/make_perf_data" ]; then
    skip "$O/stackreel or $O/tests/cli/make_perf_data is missing"
    finish
fi
O=$O tests/hosts/cases.sh "$work" >"$work/log" 2>&1
count $? "make the list of cases: $(tail -n 1 "$work/log")"
head -c 8 testdata/format/good-no-samples.reel >"$work/magic"
middle=$(($(wc -l <"$work/cases") / 2))
echo "cases and unit tests: $(part)"
run_here
control

# As many hosts in parallel as this machine has CPUs
for host in $hosts; do
    [ "$(jobs -pr | wc -l)" -lt "$(nproc)" ] || wait -n
    test_host "$host" >"$work/$host.log" 2>&1 &
done
wait
for host in $hosts; do
    echo "$host:"
    sed '$d' "$work/$host.log"
    add_counts "$work/$host.log"
done
finish
