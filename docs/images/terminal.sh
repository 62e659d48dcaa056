#!/bin/bash
# Makes terminal.svg, an animated recording of a real terminal session, for README. Needs root for BPF, both programs, g++ and termtosvg.
#
#   docs/images/terminal.sh         records the session
#   docs/images/terminal.sh play    is the session: types each command and runs it
#
#   O=DIR   the object directory (build)
set -eu
cd "$(dirname "$0")/../.."
O=$(realpath "${O:-build}")
export O
if [ "${1:-}" != play ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    g++ -O2 -g -fomit-frame-pointer -o "$work/orders" testdata/programs/orders.cc
    export WORK=$work
    # termtosvg needs a terminal.
    script -qec "termtosvg '$PWD/docs/images/terminal.svg' -g 100x24 -m 60 -M 4000 -D 4000 -t base16_default_dark -c '$PWD/docs/images/terminal.sh play'" /dev/null >"$work/log" ||
        { cat "$work/log" && exit 1; }
    exit
fi

cd "$WORK"
PATH=$O:$PATH

# run PROMPT SECONDS COMMAND: types the command, runs it and waits for readers
run() {
    local i
    printf '\e[1;32m%s\e[0m ' "$1"
    for ((i = 0; i < ${#3}; i++)); do
        printf '%s' "${3:i:1}"
        sleep 0.03
    done
    sleep 0.4
    echo
    eval "${3/sudo /}"
    sleep "$2"
}

printf '\e[2J\e[H'
run 'prod7$' 1.5 'sudo stackreel-record -F 999 -o orders.reel -- ./orders 2'
run 'laptop$' 3 'stackreel report --stdio orders.reel | head -n 11'
run 'laptop$' 4 'stackreel report --stdio --by line orders.reel | tail -n +6 | head -n 6'
