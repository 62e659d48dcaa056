#!/bin/bash
# The output does not depend on the number of unwinding threads (-j): it is byte-identical for complete and for damaged captures.
#
#   LONG=1      every capture in testdata, and more kinds of damage
#   QUICK=1     a few captures only
#   TOOL=FILE   instead of $O/stackreel
# run.sh: makes thorough longer
# checks: =replay/traces =replay/names =replay/dwarf format cli/session
. "$(dirname "$0")/../count.sh"
tool=${TOOL:-$O/stackreel}

make -s "$O/bench/repeat" >"$work/log" 2>&1 || cat "$work/log"

# taken N: selects every Nth capture, only half of them with QUICK, and a share of all with LONG.
i=0
taken() {
    local n=$1
    i=$((i + 1))
    [ -z "${QUICK-}" ] || n=$((n * 2))
    if [ -n "${LONG-}" ]; then in_share $i; else [ $((i % n)) = 1 ]; fi
}

for cpu in testdata/*/chains/symfs.tar.xz; do
    cpu=${cpu#testdata/} cpu=${cpu%%/*}
    tests/matrix/unpack.sh "$cpu" "$work/symfs-$cpu" || exit 1
done

# symfs FILE: the folder with the capture's modules.
symfs() {
    local cpu=${1#testdata/}
    case $1 in
    */chains/*) echo "$work/symfs-${cpu%%/*}" ;;
    *) dirname "$1" ;;
    esac
}

# Captures of many blocks, so that there is work for several threads: short captures repeated, in blocks of
# 100 KB of stacks.
long() {
    local file
    for file in testdata/*/orders/orders.reel testdata/*/chains/*/{exception,inline,signal,alternate,coroutine}.reel; do
        [ -e "$file" ] || continue
        taken 5 || continue
        "$O/bench/repeat" 7 "$file" "$work/long-$i.reel" 100000 || echo "failed: repeat $file"
        echo "$work/long-$i.reel $(symfs "$file")"
    done
}

# Long captures with wrong, missing or zeroed bytes, the same each time.
damaged() {
    python3 - "$work" "${LONG:+8}" "$@" <<'END'
import random, sys
work, rounds = sys.argv[1], int(sys.argv[2] or 3)
for line in sys.argv[3:]:
    path, symfs = line.split()
    whole = open(path, "rb").read()
    for round in range(rounds):
        data, dice = bytearray(whole), random.Random(path.rsplit("/", 1)[1] + str(round))
        for _ in range(dice.randrange(1, 12)):
            at = dice.randrange(48, len(data))
            if round % 3 == 0:
                data[at] ^= 1 << dice.randrange(8)
            elif round % 3 == 1:
                size = min(dice.randrange(1, 3000), len(data) - at)
                data[at:at + size] = bytes(size)
            else:
                del data[at:at + dice.randrange(1, 3000)]
        name = "%s-damaged-%d.reel" % (path[:-5], round)
        open(name, "wb").write(data)
        print(name, symfs)
END
}

# same FILE SYMFS COMMAND...
same() {
    local file=$1 symfs=$2 jobs status bad=
    shift 2
    for jobs in 1 2 7; do
        "$tool" "$@" -j "$jobs" --no-host-files --symfs "$symfs" "$file" >"$work/out.$jobs" 2>"$work/err.$jobs"
        status=$?
        echo "exit status $status" >>"$work/err.$jobs"
        [ $status -le 3 ] || bad="exit status $status"
    done
    for jobs in 2 7; do
        cmp -s "$work/out.1" "$work/out.$jobs" && cmp -s "$work/err.1" "$work/err.$jobs" && continue
        bad="-j $jobs differs from -j 1"
        diff "$work/out.1" "$work/out.$jobs" | head -n 5
        diff "$work/err.1" "$work/err.$jobs" | head -n 5
    done
    [ -z "$bad" ]
    count $? "stackreel $* $file: $bad"
}

commands() {
    same "$@" report
    [ -z "${QUICK-}" ] || return
    same "$@" report --by thread --tree
    same "$@" script
    same "$@" folded --annotate --with-comm
    same "$@" export --format=csv
    same "$@" info --all-modules
}

mapfile -t long < <(long)
[ ${#long[@]} -gt 2 ] || [ -n "${SHARE-}" ]
count $? "captures of many blocks: ${#long[@]}"
mapfile -t damaged < <(damaged "${long[@]}")
for line in "${long[@]}" "${damaged[@]}"; do
    # shellcheck disable=SC2086 # two words
    commands $line
done
for line in "${long[@]:0:3}"; do
    # shellcheck disable=SC2086
    for filter in "--time 0.1..0.9" "--cpu 0" "--tid 1-100000" "--no-inline --max-frames 5" "--min-complete 100"; do
        same $line folded $filter
    done
    # shellcheck disable=SC2086
    same $line report --compare-fp
done

for file in testdata/format/*.reel testdata/*/*/*.reel testdata/*/chains/*/*.reel; do
    taken 4 || continue
    commands "$file" "$(symfs "$file")"
done
finish
