#!/bin/bash
# The oldest version whose programs and files this one works with, built from its tag: it reads what today's programs write, and these read
# what it writes, with the same stacks.
#
#   O=DIR           the object directory (build)
#   OLDEST=COMMIT   instead of v1.0.0; before that tag exists, of the commit that made the format's major version 1
#   JOBS=N          parallel jobs of the build (2)
# run.sh: records thorough
# checks: format replay/rewrite replay/capture
. "$(dirname "$0")/../count.sh"
[ -x "$stackreel" ] || { skip "$stackreel is not built"; finish; }
[ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$PWD" ] || { skip "the oldest version: this tree is not a git clone"; finish; }
oldest=${OLDEST:-$(git rev-parse -q --verify 'v1.0.0^{commit}')}
if [ -z "$oldest" ]; then
    [ "$(git rev-parse --is-shallow-repository)" = false ] || { skip "the oldest version: neither the tag v1.0.0 nor all commits are in this clone"; finish; }
    oldest=$(git log --reverse --format=%H -G'^#define REEL_FORMAT_MAJOR 1$' -- format/block.h | head -n 1)
    [ -n "$oldest" ] || { skip "the oldest version: none has the format's major version 1 yet"; finish; }
fi
[ "$(git rev-parse "$oldest")" != "$(git rev-parse HEAD)" ] || { skip "the oldest version is this one"; finish; }
git archive "$oldest" | tar -x --one-top-level="$work/old"
ok "build $oldest" env -u MAKEFLAGS make -C "$work/old" -j"${JOBS:-2}" O=build build/stackreel build/stackreel-record
[ $failed = 0 ] || finish

can_record=
if "$recorder" -q -o "$work/probe.reel" -- true >"$work/out" 2>&1; then can_record=yes; else skip "recorders: $(head -n 1 "$work/out")"; fi

# reads FILE NAME: the reader has the writer's stacks of the file, some, and finds it whole.
reads() {
    "$writer" folded -q --no-host-files "$1" >"$work/theirs" 2>"$work/err" && [ -s "$work/theirs" ] &&
        "$reader" folded -q --no-host-files "$1" 2>"$work/err" | diff "$work/theirs" - && "$reader" verify -q "$1" >"$work/out" 2>"$work/err"
    count $? "$title: $2"
}

# direction TITLE WRITER READER: folders of programs and, of the writer, of its testdata
direction() {
    local title=$1 writer=$2/stackreel reader=$4/stackreel file name command options
    for file in "$3"/format/good-*.reel; do
        ok "$title: ${file##*/}" "$reader" verify -q "$file"
    done
    for name in x86_64-exception aarch64-pauth riscv64-inline s390x-exception i386-orders x86_64-jit x86_64-resolved; do
        reads "$3/golden/$name.reel" "$name"
        for command in pack shrink resolve scrub cut merge repair; do
            options=()
            case $command in pack | shrink | resolve) options=(--no-host-files) ;; esac
            rm -f "$work/a.reel"
            run 0 "$writer" $command -q "${options[@]}" -o "$work/a.reel" "$3/golden/$name.reel"
            reads "$work/a.reel" "$name, $command"
        done
    done
    [ -n "$can_record" ] || return 0
    run 0 "$2/stackreel-record" -q -g -F 999 -o "$work/b.reel" -- bash -c 'for ((i = 0; i < 100000; i++)); do :; done'
    reads "$work/b.reel" "a recording"
}

direction "old files, today's reader" "$work/old/build" "$work/old/testdata" "$(realpath "$O")"
direction "today's files, old reader" "$(realpath "$O")" testdata "$work/old/build"
finish
