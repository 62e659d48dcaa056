#!/bin/bash
# Replay on other hosts: stackreel is built for CPUs of both byte orders and both word sizes, and run by qemu-user on everything in
# testdata. Output, errors and exit status must be those of this host's build, byte for byte (tests/hosts/cases.sh makes the list).
# The unit tests are run there, too.
#
#   O=DIR   the object directory (build)
#   HOSTS=  these: s390x (big-endian) armhf (32 bits) arm64 riscv64 i386; without it the first one, as each takes minutes
#   LONG=1  all of them, and the unit tests on each, with the fuzzers
# run.sh: long thorough
set -u
cd "$(dirname "$0")/../.." || exit
O=$(realpath "${O:-build}")
# What takes longest is started first.
hosts=${HOSTS:-s390x${LONG:+ armhf arm64 riscv64 i386}}
. tests/count.sh
work=$(mktemp -d) || exit
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
export LC_ALL=C.UTF-8

# run_case TO COMMAND...: leaves TO.out, and TO.err with the exit status in it
run_case() {
    local to=$1 status
    shift
    (ulimit -t 120 && exec "$@" >"$to.out" 2>"$to.err" </dev/null)
    status=$?
    # A capture: the file's id is random, and how well a block compresses is up to libzstd's version.
    if [[ $* == *" import "* ]] && cmp -s -n 8 "$to.out" "$work/magic"; then
        "$O/stackreel" dump --bytes - <"$to.out" 2>&1 | sed -E 's/^([0-9]+)@[0-9]+ /\1 /; s/ (offset|stored_size)=[0-9]+//g' >"$to.dump"
        mv "$to.dump" "$to.out"
    fi
    echo "exit status $status" >>"$to.err"
}

# run_here: each case by this host's build
run_here() {
    local n=0 case
    mkdir "$work/here"
    while read -r case; do
        n=$((n + 1))
        # shellcheck disable=SC2086 # a list of words
        run_case "$work/here/$n" "$O/stackreel" $case
    done <"$work/cases"
}

# differ A B: says what of what run_case left differs, if anything does
differ() {
    cmp -s "$1.err" "$2.err" && cmp -s "$1.out" "$2.out" && return 1
    diff -a --label "errors here" --label "errors there" -u0 "$1.err" "$2.err" | head -n 7 | cut -c1-200
    diff -a --label "output here" --label "output there" -u0 "$1.out" "$2.out" | head -n 7 | cut -c1-200
}

# compare_cases TO COMMAND...: each case by COMMAND
compare_cases() {
    local to=$1 n=0 case
    shift
    while read -r case; do
        n=$((n + 1))
        # shellcheck disable=SC2086 # a list of words
        run_case "$to" "$@" $case
        ! differ "$work/here/$n" "$to"
        count $? "stackreel $case"
    done <"$work/cases"
}

# emulator ARCH: the command that runs programs of that CPU
emulator() {
    local cpu=$1
    case $cpu in
    arm64) cpu=aarch64 ;;
    armhf) cpu=arm ;;
    esac
    command -v "qemu-$cpu-static" || command -v "qemu-$cpu"
}

# unit_tests ARCH: those that are run there
unit_tests() {
    local all
    all=$(cd tests/unit && find . -name 'test_*.c' | sed 's|^\./||; s/\.c$//' | sort)
    case ${LONG:+long}$1 in
    long*) echo "$all" ;;
    s390x | armhf) grep -vE '/test_(format_fuzz|import_fuzz|unwind_paths)$' <<<"$all" ;;
    esac
}

# build ARCH DIR TARGET...: prints the sysroot. The programs know the loader and the libraries of the sysroot: with qemu's -L they would
# open its files instead of those that they ask for.
build() {
    local arch=$1 dir=$2 variables sysroot libc loader
    shift 2
    variables=$(tests/vm/cross.sh "$arch") || return
    sysroot=${variables##*SYSROOT=}
    libc=$(realpath "$sysroot"/lib/*/libc.so.6)
    loader=$sysroot$(readelf -lW "$libc" | sed -n 's/.*program interpreter: \(.*\)\]/\1/p')
    # shellcheck disable=SC2086 # a list of words
    make -s $variables O="$dir" LDFLAGS="-Wl,--dynamic-linker=$loader -Wl,--disable-new-dtags -Wl,-rpath,${libc%/*}" "$@" >&2 || return 1
    echo "$sysroot"
}

# add_counts FILE: adds the counts that its last line has
add_counts() {
    local p f s
    read -r p f s _ < <(tail -n 1 "$1" | sed -nE '/^[0-9]+ passed, /s/[^0-9]+/ /gp')
    passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1})) skipped=$((skipped + ${s:-0}))
}

# test_host ARCH: prints what differs, and its counts at the end
test_host() {
    local arch=$1 dir=$O/hosts/$1 log=$work/$1.tests qemu sysroot status
    passed=0 failed=0 skipped=0
    if ! qemu=$(emulator "$arch"); then
        skip "$arch: qemu-user is missing (tests/vm/deps.sh hosts)"
        finish
    fi
    rm -f "$dir"/tests/unit/*/*_fuzz
    # shellcheck disable=SC2046 # a list of words
    sysroot=$(build "$arch" "$dir" "$dir/stackreel" $(unit_tests "$arch" | sed "s|.*|$dir/tests/unit/&|") 2>"$log")
    status=$?
    if [ $status = 77 ]; then
        skip "$arch: $(tail -n 1 "$log")"
        finish
    fi
    count $status "$arch: the build"
    if [ $status != 0 ]; then
        tail -n 20 "$log"
        finish
    fi
    # The C library's locales, in the byte order of that CPU
    export LOCPATH=$sysroot/usr/lib/locale
    compare_cases "$work/$arch" "$qemu" "$dir/stackreel"
    echo "$passed of $((passed + failed)) cases are the same"
    if [ -n "$(unit_tests "$arch")" ]; then
        O=$dir EMULATOR=$qemu tests/run.sh -j1 --unit >"$log"
        cat "$log"
        add_counts "$log"
    fi
    finish
}

# Whether a difference is seen: this host's build with one more byte of output or errors, or another status.
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
    for n in 1 $(($(wc -l <"$work/cases") / 2)); do
        for change in none output errors status; do
            # shellcheck disable=SC2046 # a list of words
            run_case "$work/control" "$work/changed" $change "$O/stackreel" $(sed -n ${n}p "$work/cases")
            seen=$change
            differ "$work/here/$n" "$work/control" >"$work/log" || seen=none
            [ $seen = $change ]
            count $? "a difference that was made is seen: $change"
        done
    done
}

if [ ! -x "$O/stackreel" ] || [ ! -x "$O/tests/make_perf_data" ]; then
    skip "$O/stackreel or $O/tests/make_perf_data is missing"
    finish
fi
O=$O tests/hosts/cases.sh "$work" >"$work/log" 2>&1
count $? "the list of cases: $(tail -n 1 "$work/log")"
head -c 8 testdata/format/good-no-samples.reel >"$work/magic"
run_here
control

# As many hosts at a time as this one has CPUs
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
