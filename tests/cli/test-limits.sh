#!/bin/bash
# --memory-limit and --time-limit. With too little memory, a command reports an error and leaves no files. It never shows a partial result,
# whichever allocation fails: ours or one in libelf, libdw or zstd.
. "$(dirname "$0")/../count.sh"
capture=testdata/x86_64/chains/gcc/exception.reel

# A module with compressed debug information, so that libelf has to allocate as well.
debug=$work/reads
if ! gcc -g -O2 -gz=zlib -o "$debug" testdata/programs/reads.c 2>"$work/gcc"; then
    skip "no compiler: $(head -n 1 "$work/gcc")"
    debug=$O/stackreel
fi

sum_of() { "$O/stackreel" "$@" 2>"$work/errors" | md5sum; }

# sweep NAME COMMAND [ARGUMENT...]: with limits from too low to sufficient, either the whole output or an error that names the option.
sweep() {
    local name=$1 command=$2 whole mib sum status failures=0 fine=0 problem=
    shift 2
    whole=$(sum_of "$command" --memory-limit=none "$@")
    for mib in 16 18 20 22 23 24 25 26 28 30 32 34 36 38 40 44 48 56 72 96; do
        sum=$("$O/stackreel" "$command" --memory-limit=${mib}M "$@" 2>"$work/errors" >"$work/out"
            echo $?)
        status=$sum
        if [ "$status" = 0 ]; then
            fine=$((fine + 1))
            [ "$(md5sum <"$work/out")" = "$whole" ] || problem="$problem with $mib MiB it shows something else;"
        else
            failures=$((failures + 1))
            [ "$status" = 1 ] && grep -q 'memory-limit is' "$work/errors" ||
                problem="$problem with $mib MiB: status $status, $(head -n 1 "$work/errors");"
        fi
    done
    [ "$fine" != 0 ] || problem="$problem 96 MiB are not enough;"
    [ -z "$problem" ]
    count $? "$name: whole output or an error ($failures limits too small, $fine enough)$problem"
}

sweep report report -q "$capture"
sweep "report, two threads" report -q -j2 "$capture"
sweep script script -q "$capture"
sweep dump dump -q "$capture"
sweep table table -q "$debug"

# All but the digest of the file, whose id is its own.
records() { "$O/stackreel" dump -q "$1" | grep -v DIGEST | md5sum; }

# A capture is written completely or not at all.
for command in scrub shrink cut merge; do
    problem=
    "$O/stackreel" "$command" -q -o "$work/whole.reel" "$capture"
    whole=$(records "$work/whole.reel")
    for mib in 16 24 32 36 40 48 96; do
        rm -rf "$work/new" && mkdir "$work/new"
        if "$O/stackreel" "$command" -q --memory-limit=${mib}M -o "$work/new/x.reel" "$capture" 2>"$work/errors"; then
            [ "$(records "$work/new/x.reel")" = "$whole" ] || problem="$problem $mib MiB: another capture;"
        else
            grep -q 'memory-limit is' "$work/errors" || problem="$problem $mib MiB: $(head -n 1 "$work/errors");"
            [ -z "$(ls -A "$work/new")" ] || problem="$problem $mib MiB: left $(ls -A "$work/new");"
        fi
    done
    [ -z "$problem" ]
    count $? "$command: a complete capture or none$problem"
done

# Endless standard input.
mkfifo "$work/endless"
sleep 60 >"$work/endless" &
sleeper=$!
"$O/stackreel" report --time-limit=200ms -i "$work/endless" >"$work/out" 2>"$work/errors"
[ $? = 1 ] && grep -q 'not finished after 200.* --time-limit' "$work/errors"
count $? "--time-limit stops endless input: $(cat "$work/errors")"
kill $sleeper

mkdir "$work/late"
timeout 60 "$O/stackreel" shrink --time-limit=1us -o "$work/late/x.reel" "$capture" 2>"$work/errors"
[ $? = 1 ] && [ -z "$(ls -A "$work/late")" ]
count $? "no capture after a timeout: $(ls -A "$work/late")"

"$O/stackreel" report -q --time-limit=10m "$capture" >"$work/out" 2>"$work/errors"
count $? "a command within its time limit: $(cat "$work/errors")"

# Valid and invalid values of the options.
for value in 512M 512MiB 512MB 1.5g 50% none 64m; do
    "$O/stackreel" dump -q --memory-limit=$value "$capture" >"$work/out" 2>"$work/errors"
    count $? "--memory-limit=$value: $(head -n 1 "$work/errors")"
done
for option in --memory-limit=1M --memory-limit=0 --memory-limit=lots --memory-limit=5Q --memory-limit=-1 --memory-limit=512Mx --time-limit=0 --time-limit=soon; do
    "$O/stackreel" dump -q "$option" "$capture" >"$work/out" 2>"$work/errors"
    [ $? = 2 ] && grep -q "invalid" "$work/errors"
    count $? "$option is rejected: $(head -n 1 "$work/errors")"
done
finish
