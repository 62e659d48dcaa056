# Sourced by tests that run stackreel-record as a user does, after tests/count.sh. Changes into $work, and sets
# $check (inspects a capture with the independent reader) and $busy (a program to record).
check=$PWD/tests/record/record_check.py
chmod 755 "$work"
trap 'umount "$work/small" 2>/dev/null; rm -rf "$work"' EXIT

# record ARGUMENT...: runs the recorder, with its messages in $work/err.
record() {
    "$recorder" "$@" 2>"$work/err"
}

# fails STATUS PATTERN ARGUMENT...: the recorder exits with STATUS and prints one line that matches PATTERN.
fails() {
    local wanted=$1 pattern=$2 status
    shift 2
    record "$@" </dev/null >"$work/stdout"
    status=$?
    [ "$status" = "$wanted" ] || { echo "exit status $status, expected $wanted"; return 1; }
    grep -qE -- "$pattern" "$work/err" || { echo "no '$pattern' in:"; cat "$work/err"; return 1; }
    [ "$wanted" = 2 ] || [ "$(grep -c . "$work/err")" = 1 ] || { echo "more than a line:"; cat "$work/err"; return 1; }
}

[ -x "$recorder" ] || { skip "$recorder is not built"; finish; }
busy=$work/busy
${CC:-cc} -O2 -g -pthread -o "$busy" tests/programs/busy.c || { failed=1; finish; }
tests=$PWD/tests
until_cpu=$tests/support/until_cpu.sh
cd "$work" || exit 1

# needs_to_record: ends the test if this machine cannot record.
needs_to_record() {
    if [ "$(id -u)" != 0 ]; then
        skip "recording: not root"
        finish
    fi
    record -o probe.reel -- true
    if ! [ -s probe.reel ]; then
        skip "recording: $(head -n 1 err)"
        finish
    fi
}
