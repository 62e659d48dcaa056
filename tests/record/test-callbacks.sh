#!/bin/bash
# Go's calls to C and C's calls to Go: the chains of a program that makes both are those that it makes, C's frames included, and whole.
# run.sh: records
set -u
cd "$(dirname "$0")/../.." || exit
. tests/count.sh
. tests/record/recording.sh
needs_to_record
command -v go >/dev/null || { skip "no go"; finish; }
for kind in named stripped; do
    flags=-w
    [ $kind = named ] || flags="-s -w"
    ok "builds the program" env GO111MODULE=off GOCACHE="$work/cache" go build -ldflags "$flags" -o $kind "$tests/programs/callbacks.go"
    run 0 "$recorder" -q -F 499 -o $kind.reel -- ./$kind
    "$stackreel" folded $kind.reel 2>err | sed 's/\.abi0//g' >$kind.folded
    ok "$kind: its own chains" python3 "$tests/record/callbacks_check.py" $kind.folded $kind
done
finish
