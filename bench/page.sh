#!/bin/bash
# The page of `stackreel view` for a capture of many threads: its size, first paint, and frames per second while the wheel zooms and pans.
#
#   bench/page.sh [THREADS [SAMPLES]]     (100000 threads with 10 samples each)
#
# Needs chromium, node 20 and playwright-core (make deps test-all). The results depend on the machine's load: compare the work per frame.
set -u
cd "$(dirname "$0")/.." || exit
O=${O:-build} threads=${1:-100000} samples=${2:-10}
playwright=$PWD/tests/npm/node_modules/playwright-core
chromium=$(command -v chromium || command -v chromium-browser) || { echo "chromium is not installed" >&2; exit 1; }
work=$(mktemp -d "${TMPDIR:-/var/tmp}/stackreel-page.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
python3 tests/page/make_captures.py many "$work/many.reel" "$threads" "$samples" || exit 1
start=$(date +%s.%N)
"$O/stackreel" view -q -o "$work/many.html" "$work/many.reel" || exit 1
echo "$threads threads, $((threads * samples)) samples: written in $(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }') s"
echo "size: $(stat -c %s "$work/many.html") bytes"
node bench/page.mjs "$playwright" "$chromium" "file://$work/many.html"
