# Sourced by the test scripts, first: changes into the project's folder, counts cases, and ends with the line that tests/run.sh adds up.
# $work is the script's own folder, removed at its end; its files out and err hold the output of the last command.
set -u
cd "${BASH_SOURCE%/*}/.." || exit
O=${O:-build}
stackreel=$(realpath -m "$O")/stackreel recorder=$(realpath -m "$O")/stackreel-record
work=$(mktemp -d "${TMPDIR:-/var/tmp}/reel.XXXXXXXX") || exit
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0 last=

# skip WHY
skip() {
    echo "skip: $1"
    skipped=$((skipped + 1))
}

# count STATUS NAME: a case that passes if STATUS is 0. On failure, shows the last command and its standard error.
count() {
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "FAILED: $2"
    [ -z "$last" ] || echo "    after: $last"
    [ ! -s "${work:-}/err" ] || sed 's/^/    stderr: /' "$work/err" | head -n 5
}

# ok NAME COMMAND...: a case that passes if the command succeeds. On failure, shows the command's output. Needs $work.
# There is deliberately no variant that counts $? of the last command: a $(…) in NAME would overwrite it.
ok() {
    local status name=$1
    shift
    "${@:?ok: no command: $name}" >"$work/out" 2>&1
    status=$?
    count $status "$name (status $status)"
    [ $status = 0 ] || sed 's/^/    /' "$work/out" | head -n 20
}

# run STATUS COMMAND...: a case that passes if the command exits with STATUS.
run() {
    local wanted=$1 status
    shift
    "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    last="${*##*/stackreel}: status $status"
    [ $status = "$wanted" ]
    count $? "status $wanted"
}

# has FILE REGEX...: a case per REGEX, which passes if a line of $work/FILE matches.
has() {
    local file=$work/$1 regex
    shift
    for regex; do
        grep -qE -- "$regex" "$file"
        count $? "a line matching '$regex' in ${file##*/}: $(head -n 5 "$file")"
    done
}

# says PATTERN: a case that passes if the last command's standard error matches.
says() {
    grep -qE -- "$1" "$work/err"
    count $? "standard error matches '$1': $(head -n 2 "$work/err")"
}

# recorded CELL COMMAND...: a case that passes if the command recorded in that guest; skipped if the guest cannot record here. Returns
# non-zero unless it passed. The command's output goes to $work/log.
recorded() {
    local cell=$1 status
    shift
    "$@" >"$work/log" 2>&1
    status=$?
    if [ $status = 77 ]; then
        skip "$cell: $(tail -n 1 "$work/log")"
        return 1
    fi
    [ $status = 0 ] || tail -n 30 "$work/log"
    count $status "$cell: recording"
    return $status
}

# capture LABEL BUILD OPTIONS COMMAND: makes that capture, unless it is there (support/capture.sh), and sets $dir to its folder. Skips and
# returns non-zero where that is not possible.
capture() {
    local status
    dir=$("${BASH_SOURCE%/*}/support/capture.sh" "$@" 2>"$work/err")
    status=$?
    if [ $status = 77 ]; then skip "$(tail -n 1 "$work/err")"; else count $status "capture $1"; fi
    return $status
}

# runs_i386: whether this kernel executes 32-bit x86 programs (CONFIG_IA32_EMULATION, which a boot option can switch off) and the compiler
# can build them.
runs_i386() {
    printf '.globl _start\n_start: mov $1, %%eax\nmov $42, %%ebx\nint $0x80\n' >"$work/i386.s"
    "${CC:-cc}" -m32 -nostdlib -static -no-pie -o "$work/i386.bin" "$work/i386.s" 2>/dev/null || return
    "$work/i386.bin" 2>/dev/null
    [ $? = 42 ]
}

# tests/run.sh may ask for a part: SHARE=K/N for the items whose index is K modulo N, AFFECTED=FILE for those whose source is a line of that
# file. With both, an item runs if either selects it; with neither, all run.
[[ ${SHARE-0/1} =~ ^([0-9]+)/([1-9][0-9]*)$ ]] && ((10#${BASH_REMATCH[1]} < 10#${BASH_REMATCH[2]})) || { echo "invalid SHARE '$SHARE'" && exit 2; }
[ -r "${AFFECTED-/dev/null}" ] || { echo "cannot read AFFECTED '$AFFECTED'" && exit 2; }

# in_share INDEX: whether SHARE selects this item, or is unset
in_share() { [ -z "${SHARE+set}" ] || (($1 % 10#${SHARE#*/} == 10#${SHARE%/*})); }

# affected SOURCE: whether AFFECTED lists this file, or is unset
affected() { [ -z "${AFFECTED+set}" ] || grep -qxF -- "$1" "$AFFECTED"; }

# selected INDEX [SOURCE]: whether to run this item. Without a source, it covers all that is not a test.
selected() {
    case ${SHARE+share}${AFFECTED+affected} in
    share) in_share "$1" ;;
    *affected) { [ -n "${SHARE+set}" ] && in_share "$1"; } || if [ $# = 2 ]; then affected "$2"; else grep -qv '^tests/' "$AFFECTED"; fi ;;
    esac
}

# part: what SHARE and AFFECTED select, for the output
part() {
    case ${SHARE+share}${AFFECTED+affected} in
    "") echo "all" ;;
    share) echo "share $SHARE" ;;
    affected) echo "those that the change can break" ;;
    *) echo "those that the change can break, and share $SHARE of the rest" ;;
    esac
}

finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
    exit
}
