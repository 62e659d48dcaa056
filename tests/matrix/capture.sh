#!/bin/bash
# capture.sh CPU [VARIANT/MODE...] - record all or these captures of testdata/CPU/chains again, with their expected output
#
# Records testdata/programs/chains on Debian's stock kernels for CPU (tests/vm/chains.sh), checks that every sample has a chain that
# the program can have (tests/chains/check.py) and, on x86_64, that libdw has the same chains (elsewhere it has none for PLTs and vDSO).
# Only correct captures, their folded output and the trimmed binaries (trim.py) are copied to testdata. Others are reported and skipped,
# with status 1. cells.py lists the captures. Needs what tests/vm/deps.sh installs, and `make tests`.
#   KEEP=DIR   keep the recordings there, with the untrimmed binaries; if DIR exists, use its recordings
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd) root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
O=${O:-build}
stackreel=$O/stackreel compare=$O/tests/truth/compare_unwinders
[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
cpu=$1
shift
cells=("$@") whole=
[ $# != 0 ] || { mapfile -t cells < <("$here/cells.py" "$cpu") && whole=yes; }
[ ${#cells[@]} -gt 0 ] || exit 2
for program in "$stackreel" "$compare"; do
    [ -x "$program" ] || { echo "capture.sh: $program is not built; run make tests" >&2; exit 2; }
done

work=$(mktemp -d /var/tmp/matrix.XXXXXX)
trap 'rm -rf "$work"' EXIT
raw=${KEEP:-$work/raw} data=testdata/$cpu/chains

# ---- record -----------------------------------------------------------------------------------

# Half a second at 299 Hz: 150 samples. 80 KB is more than perf can record. With -icount a busy host does not cost samples.
# Raw stacks, since tests/rewrite/test-scrub.sh tests scrubbing on them.
export SECONDS_OF_CPU=0.5 FREQUENCY=299 STACK_BYTES=80000 RECORD_OPTIONS=--raw-stacks
# (Too slow for riscv64's guest.)
icount=shift=3,sleep=off
[ "$cpu" != riscv64 ] || icount=
export STACKREEL_VM_TIMEOUT=${STACKREEL_VM_TIMEOUT:-1800} STACKREEL_VM_ICOUNT=${STACKREEL_VM_ICOUNT-$icount}
have=
[ ! -e "$raw" ] || have=yes
[ -n "$have" ] || while read -r guest list; do
    read -ra some <<<"$list"
    variants=$(printf '%s\n' "${some[@]%/*}" | LC_ALL=C sort -u | tr '\n' ' ')
    VARIANTS=$variants tests/vm/chains.sh "$guest" "$raw" "${some[@]}" </dev/null
done < <("$here/cells.py" "$cpu" "${cells[@]}")

# ---- check ------------------------------------------------------------------------------------

# Only names are needed from the libraries' debug files.
prefix=$(. tests/vm/common.sh && triplet "$cpu")-
command -v "${prefix}objcopy" >/dev/null || prefix=
find "$raw/symfs/usr/lib/debug" -name '*.debug' -exec "${prefix}objcopy" --strip-debug {} \;

replay() {
    local command=$1 symfs=$2
    shift 2
    "$stackreel" "$command" -q --no-host-files --symfs "$symfs" --debug-dir "$symfs/usr/lib/debug" "$@"
}

# check CELL SYMFS PRINTED: checks the output of script, on standard input
check() {
    local libc=glibc
    [[ $1 != musl/* ]] || libc=musl
    tests/chains/check.py "${1#*/}" --slow --min 25 --cpu "$cpu" --libc $libc --symfs "$2" --printed "${3:-0}" --count 6 >"$work/out" 2>&1
}

if [ -n "$whole" ] || [ ! -e "$data/symfs.tar.xz" ]; then
    rm -rf "$data"
else
    # Keep variants that were not recorded this time.
    tests/matrix/unpack.sh "$cpu" "$work/old"
    cp -rn "$work/old/." "$raw/symfs/"
fi
wrong=0
for cell in "${cells[@]}"; do
    reel=$raw/$cell.reel mode=${cell#*/}
    mkdir -p "$data/${cell%/*}"
    rm -f "$data/$cell".*
    if [ ! -s "$reel" ] || grep -qx "$mode" "$raw/${cell%/*}/failed"; then
        echo "$cell: not recorded: $(tail -n 1 "$raw/$cell.log" 2>/dev/null)"
        wrong=$((wrong + 1))
        continue
    fi
    if ! replay script "$raw/symfs" "$reel" | check "$cell" "$raw/symfs" "$(cat "$raw/$cell.printed")"; then
        sed "s,^,$cell: ," "$work/out"
        wrong=$((wrong + 1))
        continue
    fi
    head -n 1 "$work/out" | sed "s,^[^:]*,$cell,"
    install -m 644 "$reel" "$data/$cell.reel"
    [ ! -s "$raw/$cell.printed" ] || install -m 644 "$raw/$cell.printed" "$data/$cell.printed"
done

# ---- store ------------------------------------------------------------------------------------

mapfile -t reels < <(find "$data" -name '*.reel' | LC_ALL=C sort)
"$here/trim.py" "$stackreel" "$raw/symfs" "$work/symfs" "${reels[@]}"
for reel in "${reels[@]}"; do
    name=${reel#"$data/"}
    for symfs in raw work; do replay script "${!symfs}/symfs" "$reel" >"$work/script.$symfs"; done
    if ! cmp -s "$work/script.raw" "$work/script.work"; then
        echo "$name: the trimmed binaries give other frames"
        diff "$work/script.raw" "$work/script.work" | head -n 20
        rm "${reel%.reel}".*
        wrong=$((wrong + 1))
        continue
    fi
    if [ "$cpu" = x86_64 ] && ! "$here/libdw.sh" "$work/symfs" "$reel" >"$work/out"; then
        sed "s,^,$name: ," "$work/out"
        rm "${reel%.reel}".*
        wrong=$((wrong + 1))
        continue
    fi
    replay folded "$work/symfs" "$reel" | xz -9 >"${reel%.reel}.folded.xz"
done
(cd "$work/symfs" && LC_ALL=C find . -type f | LC_ALL=C sort | tar -c --no-recursion -T - --format=ustar --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=a+rX) |
    xz -9e >"$data/symfs.tar.xz"
du -b "$data"/symfs.tar.xz "$data"/*/ | cat
echo "$wrong of ${#cells[@]} cells of $cpu are wrong"
[ "$wrong" = 0 ]
