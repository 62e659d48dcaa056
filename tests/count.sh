# Sourced by the test scripts: counts cases, and ends with the line that tests/run.sh adds up.
passed=0 failed=0 skipped=0

# skip WHY
skip() {
    echo "skip: $1"
    skipped=$((skipped + 1))
}

# count STATUS NAME: a case that passed if STATUS is 0.
count() {
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $2"
    fi
}

# ok NAME [COMMAND...]: a case that passed if the command (or $? of the last one) succeeded. $work is a folder; what else was run
# may have left standard error in its file err.
ok() {
    local status=$? name=$1
    shift
    if [ $# != 0 ]; then
        "$@" >"$work/out" 2>&1
        status=$?
    fi
    if [ $status = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name (status $status)"
        [ $# = 0 ] || sed 's/^/    /' "$work/out" | head -n 20
        [ ! -s "$work/err" ] || sed 's/^/    stderr: /' "$work/err" | head -n 5
    fi
}

# run STATUS COMMAND...: a case that passed if it ends with that status; its output goes to $work/out, its errors to $work/err.
run() {
    local wanted=$1 status
    shift
    "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    [ $status = "$wanted" ]
    count $? "status $status instead of $wanted: $*: $(head -n 1 "$work/err")"
}

# says PATTERN: what was run last, on standard error.
says() {
    grep -qE -- "$1" "$work/err"
    count $? "says '$1': $(head -n 2 "$work/err")"
}

# recorded CELL COMMAND...: a case that passed if the command has recorded in that guest. False if it has not, or (then it is skipped) cannot
# do so here. What it says goes to $work/log.
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

finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
    exit
}
