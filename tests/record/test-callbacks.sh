#!/bin/bash
# Calls from one stack to another and back: Go's calls to C and C's to Go, and OCaml's, by a program that makes them in the same way. The
# chains are those that the program makes, and whole. Also a stack whose outermost return address was stored.
# run.sh: records
. "$(dirname "$0")/../count.sh"
. tests/record/recording.sh
needs_to_record

# check NAME PROGRAM [UNNAMED...]: records ./NAME, built from tests/programs/PROGRAM. With $alone, only the capture is read.
check() {
    run 0 "$recorder" -q -F 499 -o "$1.reel" -- "./$1"
    "$stackreel" folded ${alone:+--no-host-files} "$1.reel" 2>err | sed 's/\.abi0//g' >"$1.folded"
    ok "$1: its own chains" python3 "$tests/record/callbacks_check.py" "$1.folded" "${@:2}"
}

if command -v go >/dev/null; then
    export GO111MODULE=off GOCACHE=$work/cache
    ok "builds the Go program" go build -ldflags -w -o named "$tests/programs/callbacks.go"
    check named callbacks.go
    ok "builds it stripped" go build -ldflags "-s -w" -o stripped "$tests/programs/callbacks.go"
    check stripped callbacks.go viaC spinC thread
    ok "builds the program with goroutines" go build -o goroutines "$tests/programs/goroutines.go"
    for alone in "" yes; do check goroutines goroutines.go; done
    alone=
else
    skip "calls of Go and C: no go"
fi
if [ "$(uname -m)" = x86_64 ]; then
    ok "builds the program with two stacks" "${CC:-cc}" -O2 -fno-optimize-sibling-calls -pthread -rdynamic -o stacks "$tests/programs/two_stacks.c"
    check stacks two_stacks.c
    ok "builds the program with a stored return address" "${CC:-cc}" -O1 -o stored "$tests/programs/stored_return.c"
    for alone in "" yes; do check stored stored_return.c; done
else
    skip "calls as OCaml makes them, and a stored return address: only known for x86-64"
fi
finish
