#!/bin/bash
# --sandbox: every command that reads and prints gives the same output with and without it, for intact and damaged captures and any number
# of threads. It is the default for standard input. tests/unit/cli/session/test_sandbox.c tests what it forbids.
. "$(dirname "$0")/../count.sh"
tool=${O:-build}/stackreel
[ -x "$tool" ] || { skip "$tool is not built"; finish; }
orders=testdata/aarch64/orders
if ! "$tool" info -q --sandbox "$orders/orders.reel" >/dev/null 2>"$work/err"; then
    skip "--sandbox: $(cat "$work/err")"
    grep -q 'kernel has no' "$work/err"
    count $? "... and a message says why"
    finish
fi

i=0
# same COMMAND ARGUMENT... FILE: compares the output without and with --sandbox, and from standard input
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
# Intact and damaged captures. One command per capture is enough, as the others only repeat the checks.
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
ok "-o: opens the file before entering the sandbox" cmp "$work/without" "$work/made"
echo older >"$work/made"
echo damaged | "$tool" folded -o "$work/made" - 2>"$work/err"
[ $? = 1 ] && [ "$(cat "$work/made")" = older ]
count $? "-o: an invalid capture replaces no file"

# state ARGUMENT...: the seccomp state of the process while its output is not read
state() {
    local pid
    mkfifo "$work/blocked"
    "$tool" script --symfs "$orders" "$@" >"$work/blocked" 2>"$work/err" <"$orders/orders.reel" &
    pid=$!
    exec 5<"$work/blocked"
    # Once the pipe contains data, the process has reached this state.
    IFS= read -r -n 1 <&5
    sed -nE 's/^(NoNewPrivs|Seccomp):\s*/\1=/p' "/proc/$pid/status" | xargs
    exec 5<&-
    wait $pid
    rm "$work/blocked"
}
[ "$(state -)" = 'NoNewPrivs=1 Seccomp=2' ]
count $? "standard input: sandboxed"
[ "$(state --no-sandbox -)" = 'NoNewPrivs=0 Seccomp=0' ]
count $? "standard input with --no-sandbox: not sandboxed"
[ "$(state "$orders/orders.reel")" = 'NoNewPrivs=0 Seccomp=0' ]
count $? "a file: not sandboxed"
[ "$(state --sandbox "$orders/orders.reel")" = 'NoNewPrivs=1 Seccomp=2' ]
count $? "a file with --sandbox: sandboxed"

# Commands that write captures have no such option, and no sandbox by default.
run 0 bash -c "'$tool' scrub -q -o '$work/scrubbed' - <'$orders/orders.reel'"
finish
