#!/bin/bash
# The cost of a storm of short-lived processes in a capture of the whole host: records by kind, bytes, and the share per sample.
#
#   bench/storm.sh [SECONDS]     of the forks mode of tests/programs/noisy.c, with one program per CPU (5)
#
# Needs root and BPF. KEEP=FILE keeps the capture there.
set -u
cd "$(dirname "$0")/.." || exit
O=${O:-build} seconds=${1:-5}
work=$(mktemp -d "${TMPDIR:-/var/tmp}/stackreel-storm.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -O2 -g -pthread -o "$work/noisy" tests/programs/noisy.c || exit 1
for _ in $(seq "$(nproc)"); do
    "$work/noisy" forks "$seconds" >>"$work/forks" &
done
"$O/stackreel-record" -a -F 999 --duration "$seconds" -o "$work/storm.reel" || exit 1
wait
forks=$(awk '{ n += $1 } END { print n }' "$work/forks")
echo "started processes (and as many threads): $forks"
echo "bytes: $(stat -c %s "$work/storm.reel")"
"$O/stackreel" dump -q "$work/storm.reel" | awk '{ n[$2]++ } END { for (kind in n) print n[kind], kind }' | sort -rn
[ -z "${KEEP-}" ] || cp "$work/storm.reel" "$KEEP"
