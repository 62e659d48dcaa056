#!/bin/bash
# Makes python.svg for README: a Django service under gunicorn, recorded with the whole host. Needs root for BPF, both programs, and Debian's
# gunicorn, python3-django and curl.
#
#   O=DIR   the object directory (build)
set -eu
cd "$(dirname "$0")/../.."
O=$(realpath "${O:-build}")
work=$(mktemp -d)
cp testdata/programs/shop.py "$work"
(cd "$work" && exec /usr/bin/python3 /usr/bin/gunicorn --workers 2 --bind 127.0.0.1:8077 shop:application >gunicorn.log 2>&1) &
server=$!
trap 'kill $server; rm -rf "$work"' EXIT
curl -s --retry 20 --retry-connrefused --retry-delay 1 -o /dev/null http://127.0.0.1:8077/stock

while curl -s -o /dev/null http://127.0.0.1:8077/order/40 -o /dev/null http://127.0.0.1:8077/stock; do :; done &
load=$!
trap 'kill $load $server; rm -rf "$work"' EXIT
"$O/stackreel-record" -a --duration 10s -o "$work/a.reel"
"$O/stackreel" flamegraph -q --pid="$(pgrep -d, -f "gunicorn --workers 2")" --min-share=1 -o docs/images/python.svg "$work/a.reel"
