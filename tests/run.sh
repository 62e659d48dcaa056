#!/bin/bash
# Runs the tests and adds up what every runner counted.
#
#   tests/run.sh            everything: unit tests, then each tests/*/test.sh and tests/test-*.{sh,py}
#   tests/run.sh --unit     only the unit tests
#   tests/run.sh NAME...    only runners whose name contains one of NAME
#   O=DIR                   the object directory (build)
#   EMULATOR=COMMAND        runs the unit tests, if they are another CPU's
#
# A unit test is a cmocka program.  A script counts its own cases and ends with the line
# `N passed, N failed, N skipped`; a skip prints why.  A script that ends otherwise is one failure.
set -u
cd "$(dirname "$0")/.."
export O=${O:-build}
passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# add NAME STATUS SECONDS: counts what $log says.
add() {
    local name=$1 status=$2 seconds=$3 counts p f s
    counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$log" | tail -n 1)
    read -r p f s _ < <(sed -E 's/[^0-9]+/ /g' <<<"${counts:-0 0 0} 0")
    if [ "$status" != 0 ] && [ "$f" = 0 ]; then
        f=1
        echo "$name: exit status $status"
    elif [ "$((p + f + s))" = 0 ]; then
        f=1
        echo "$name: ran no test"
    fi
    if [ "$f" != 0 ] || [ "$status" != 0 ]; then
        sed 's/^/    /' "$log"
    else
        grep -iE '^skip' "$log" | sed 's/^/    /'
    fi
    printf '%-34s %5d passed, %d failed, %d skipped, %d s\n' "$name" "$p" "$f" "$s" "$seconds"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

wanted() {
    local name=$1 only
    shift
    [ $# = 0 ] && return 0
    for only; do [[ $name == *"$only"* ]] && return 0; done
    return 1
}

unit() {
    local program status start
    for program in "$O"/tests/unit/*; do
        { [ -f "$program" ] && [ -x "$program" ]; } || continue
        wanted "unit/${program##*/}" "$@" || continue
        start=$SECONDS
        # shellcheck disable=SC2086 # a command with its arguments
        CMOCKA_MESSAGE_OUTPUT=TAP ${EMULATOR-} "$program" >"$log" 2>&1
        status=$?
        local ok not_ok skip
        # cmocka 1.1 writes `not ok N # SKIP NAME'
        sed -E -i 's/^(not )?ok [0-9]+ .*# SKIP/skip:/' "$log"
        skip=$(grep -c '^skip:' "$log")
        ok=$(grep -cE '^ok ' "$log")
        not_ok=$(grep -cE '^not ok ' "$log")
        echo "$ok passed, $not_ok failed, $skip skipped" >>"$log"
        add "unit/${program##*/}" "$status" $((SECONDS - start))
    done
}

scripts() {
    local script name status start
    for script in tests/test-*.sh tests/test-*.py tests/*/test.sh; do
        [ -f "$script" ] || continue
        name=${script#tests/}
        wanted "$name" "$@" || continue
        start=$SECONDS
        "$script" >"$log" 2>&1
        status=$?
        add "$name" "$status" $((SECONDS - start))
    done
}

case ${1-} in
--unit) unit ;;
*) unit "$@" && scripts "$@" ;;
esac
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
