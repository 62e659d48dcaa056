#!/bin/bash
# Steps through functions of this machine's libraries with ptrace(2). At each instruction the chain must be the caller's, which was
# determined before the call.
#
#   O=DIR   the object directory (build)
. "$(dirname "$0")/../count.sh"
program=$O/tests/unwind/stepped
if [ ! -x "$program" ]; then
    skip "$program is not built"
    finish
fi

# subject NAME TITLE: status 77 means that it cannot be stepped through here.
subject() {
    local said status=0
    said=$("$program" "$1" 2>&1) || status=$?
    if [ $status = 77 ]; then
        skip "$2: $said"
    else
        count $status "$2: $(tail -n 1 <<<"$said")"
        [ $status = 0 ] || sed 's/^/    /' <<<"$said"
    fi
}

subject gmp "GMP's divrem_1, which has no CFI"
subject throw "libgcc's jumps to landing pads"
finish
