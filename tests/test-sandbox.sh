#!/bin/bash
# --sandbox: every command that reads and prints says the same within it as without, of whole and of damaged captures, by any number of
# threads; and it is the default for standard input. What it refuses is tried in tests/unit/cli/session/test_sandbox.c.
set -u
cd "$(dirname "$0")/.." || exit
tool=${O:-build}/stackreel
. tests/count.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -x "$tool" ] || { skip "$tool is not built"; finish; }
orders=testdata/aarch64/orders
if ! "$tool" info -q --sandbox "$orders/orders.reel" >/dev/null 2>"$work/err"; then
    skip "--sandbox: $(cat "$work/err")"
    grep -q 'kernel has no' "$work/err"
    count $? "... and it says why"
    finish
fi

i=0
# same COMMAND ARGUMENT... FILE: without, with, and by standard input
same() {
    local arguments=("${@:1:$#-1}") file=${!#} status
    "$tool" "${arguments[@]}" --no-sandbox - <"$file" >"$work/without" 2>"$work/without.err"
    status=$?
    "$tool" "${arguments[@]}" --sandbox - <"$file" >"$work/with" 2>"$work/with.err"
    [ $? = $status ] && cmp -s "$work/without" "$work/with" && cmp -s "$work/without.err" "$work/with.err"
    count $? "$* --sandbox: $(diff "$work/without" "$work/with" | head -n 2) $(diff "$work/without.err" "$work/with.err" | head -n 2)"
    "$tool" "${arguments[@]}" - <"$file" >"$work/with" 2>"$work/with.err"
    [ $? = $status ] && cmp -s "$work/without" "$work/with" && cmp -s "$work/without.err" "$work/with.err"
    count $? "$*, from standard input"
}
for command in report 'report --tree' script folded 'export --format=ndjson' 'flamegraph --format=svg' info doctor; do
    # shellcheck disable=SC2086 # words
    same $command --symfs "$orders" "$orders/orders.reel"
done
# Whole and damaged ones; each command says the same of them, so one for each will do.
commands=(report script folded info doctor 'dump --json')
for file in testdata/format/*.reel; do
    # shellcheck disable=SC2086 # words
    same ${commands[i++ % ${#commands[@]}]} "$file"
done
same folded -j 1 --no-host-files --symfs "$orders" "$orders/orders.reel"
same folded -j 4 --no-host-files --symfs "$orders" "$orders/orders.reel"
# A module of this host, by its recorded path.
"$tool" table --no-sandbox "$tool" >"$work/without" 2>&1
"$tool" table --sandbox "$tool" >"$work/with" 2>&1
ok "table" cmp "$work/without" "$work/with"

"$tool" folded --no-sandbox --symfs "$orders" "$orders/orders.reel" >"$work/without"
"$tool" folded --sandbox --symfs "$orders" -o "$work/made" "$orders/orders.reel"
ok "-o: a file that is made before" cmp "$work/without" "$work/made"
echo older >"$work/made"
echo damaged | "$tool" folded -o "$work/made" - 2>"$work/err"
[ $? = 1 ] && [ "$(cat "$work/made")" = older ]
count $? "-o: what is no capture replaces nothing"

# state ARGUMENT...: of the process while its output is not taken
state() {
    local pid
    mkfifo "$work/blocked"
    "$tool" script --symfs "$orders" "$@" >"$work/blocked" 2>"$work/err" <"$orders/orders.reel" &
    pid=$!
    exec 5<"$work/blocked"
    # It has come to that when the pipe has something.
    IFS= read -r -n 1 <&5
    sed -nE 's/^(NoNewPrivs|Seccomp):\s*/\1=/p' "/proc/$pid/status" | xargs
    exec 5<&-
    wait $pid
    rm "$work/blocked"
}
[ "$(state -)" = 'NoNewPrivs=1 Seccomp=2' ]
count $? "standard input: it is in the sandbox"
[ "$(state --no-sandbox -)" = 'NoNewPrivs=0 Seccomp=0' ]
count $? "standard input: --no-sandbox"
[ "$(state "$orders/orders.reel")" = 'NoNewPrivs=0 Seccomp=0' ]
count $? "a file: it is not"
[ "$(state --sandbox "$orders/orders.reel")" = 'NoNewPrivs=1 Seccomp=2' ]
count $? "a file: --sandbox"

# Those that make captures have no such option, and none by itself.
run 0 bash -c "'$tool' scrub -q -o '$work/scrubbed' - <'$orders/orders.reel'"
finish
