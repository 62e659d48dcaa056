#!/bin/bash
# Pages of stackreel view in a real browser: Chromium, controlled by npm's playwright-core, used like a person would. Their numbers are report's.
#
#   O=DIR       the object directory (build)
#   SHOTS=DIR CAPTURE=FILE   write pictures of FILE's page, as for README.md, to DIR: view-light.png, view-dark.png and view-diff.png
#
# run.sh: thorough
# checks: cli/page
. "$(dirname "$0")/../count.sh"
tool=$O/stackreel
. tests/page/browser.sh

orders=testdata/aarch64/orders
from=(--no-host-files --symfs $orders --debug-dir $orders)

# page NAME ARGUMENT...
page() {
    local name=$1
    shift
    run 0 "$tool" view -q -o "$work/$name.html" "$@"
    ok "$name.html is smaller than 3 MB" test "$(stat -c %s "$work/$name.html")" -lt 3000000
}

# total NAME ARGUMENT...: report's total share of a function
total() {
    local name=$1
    shift
    "$tool" report --no-pager "$@" "${from[@]}" $orders/orders.reel | grep -F "$name" | head -n 1 | awk '{ print $5 " %" }'
}

page orders "${from[@]}" $orders/orders.reel
[ -z "${SHOTS:-}" ] || {
    page shots "${CAPTURE:-$orders/orders.reel}"
    page shots-diff --no-host-files --symfs $orders --symfs testdata/i386/orders testdata/i386/orders/orders.reel $orders/orders.reel
}
page firefox --firefox "${from[@]}" $orders/orders.reel
"$tool" export --format=firefox "${from[@]}" -o "$work/firefox.json" $orders/orders.reel
python3 tests/export/hostile_kernel.py "$work/hostile.reel"
page hostile "$work/hostile.reel"
python3 tests/page/make_captures.py waits "$work/waits.reel"
page waits "$work/waits.reel"
python3 tests/page/make_captures.py many "$work/many.reel" "${THREADS:-100000}" 10
sed '58s|^|</td><img src=x onerror="document.title=1">|' testdata/programs/orders.cc >"$work/orders.cc"
for side in before after; do python3 tests/page/make_captures.py $side "$work/$side.reel"; done
page diff "$work/before.reel" "$work/after.reel"
page code --source-path "$work" "${from[@]}" $orders/orders.reel
page many "$work/many.reel"
run 0 "$tool" aggregate -q -o "$work/fleet.profile" "${from[@]}" $orders/orders.reel
page profile "$work/fleet.profile"
cat >"$work/expected.json" <<END
{
    "walk": "$(total 'shop::walk(')", "tax": "$(total 'Checkout::tax(')", "checkout": "$(total 'Checkout::checkout(')",
    "range": "$(total 'Checkout::tax(' --time 0.2..0.4)",
    "samples": $("$tool" folded "${from[@]}" $orders/orders.reel | awk '{ sum += $NF } END { print sum }'),
    "rangeSamples": $("$tool" folded --time 0.2..0.4 "${from[@]}" $orders/orders.reel | awk '{ sum += $NF } END { print sum }'),
    "folded": $("$tool" folded "${from[@]}" $orders/orders.reel | LC_ALL=C sort | python3 -c 'import json, sys; print(json.dumps(sys.stdin.read()))'),
    "threads": ${THREADS:-100000}
}
END
node tests/page/page.mjs "$work" "$playwright" "$chromium" ${SHOTS:+"$(realpath "$SHOTS")"} >"$work/out" 2>"$work/err"
sed '$d' "$work/out"
cat "$work/err"
read -r more _ bad _ < <(tail -n 1 "$work/out")
passed=$((passed + ${more:-0})) failed=$((failed + ${bad:-1}))
finish
