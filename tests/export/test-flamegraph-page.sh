#!/bin/bash
# Pages of stackreel flamegraph in a real browser: Chromium, controlled by npm's playwright-core. Compares their contents with report's
# shares.
#
#   O=DIR       the object directory (build)
#   OPENS=N     open the page of a million samples N times (1), and one of 842 samples, and print the median load times
#   SHOTS=DIR   write the pictures for README.md to DIR
#
# run.sh: thorough
set -u
cd "$(dirname "$0")/../.." || exit
O=${O:-build}
tool=$O/stackreel
playwright=$PWD/cli/flamegraph/web/node_modules/playwright-core
. tests/count.sh
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# leave WHY
leave() {
    skip "$1"
    finish
}

chromium=$(command -v chromium || command -v chromium-browser) || leave "chromium is not installed"
[ -d "$playwright" ] || leave "npm's playwright-core is not installed (make deps test-all fetches it)"
[ "$(node --version 2>/dev/null | sed -E 's/^v([0-9]+).*/\1/')" -ge 20 ] 2>/dev/null || leave "playwright-core needs node 20 or newer"
orders=testdata/aarch64/orders
from=(--no-host-files --symfs $orders --debug-dir $orders)
! "$tool" flamegraph --format=html "${from[@]}" $orders/orders.reel 2>&1 >/dev/null | grep -q 'cannot draw pages' ||
    leave "this stackreel was built without npm's packages"

# page NAME ARGUMENT...: makes a page and checks that it is smaller than 1.5 MB.
page() {
    local name=$1
    shift
    run 0 "$tool" flamegraph -q -o "$work/$name.html" "$@"
    [ "$(stat -c %s "$work/$name.html")" -lt 1500000 ]
    count $? "$name.html is smaller than 1.5 MB"
}

# total REGEX REPORT...: report's total share of the first matching symbol.
total() {
    local regex=$1
    shift
    "$tool" report --no-pager "$@" | grep -E "$regex" | head -n 1 | awk '{ print $5 " %" }'
}

# self REGEX REPORT...: the self share that the report shows, as a number
self() {
    local regex=$1
    shift
    "$tool" report --no-pager "$@" | grep -E "$regex" | head -n 1 | awk '{ print $1 }'
}

sum() {
    "$tool" export --format=ndjson "$@" | grep -oE '"weight":[0-9]+' | awk -F: '{ sum += $2 } END { printf "%d", sum }'
}

python3 tests/export/hostile_kernel.py "$work/hostile.reel"
"$O/bench/repeat" 1200 $orders/orders.reel "$work/long.reel" >/dev/null
page orders "${from[@]}" $orders/orders.reel
page threads --no-host-files testdata/riscv64/chains/gcc/threads.reel
page hostile "$work/hostile.reel"
run 0 "$tool" aggregate -q -o "$work/fleet.profile" "${from[@]}" $orders/orders.reel
page profile "$work/fleet.profile"
page diff --no-host-files --symfs $orders --symfs testdata/i386/orders --diff testdata/i386/orders/orders.reel $orders/orders.reel
page long "${from[@]}" "$work/long.reel"
"$tool" export -q --format=speedscope "${from[@]}" $orders/orders.reel -o "$work/orders.speedscope.json"
name='shop::walk(int, unsigned long)'
share=$(total 'shop::walk' "${from[@]}" $orders/orders.reel)
cat >"$work/expected.json" <<END
{
    "name": "$name", "share": "$share",
    "priceTotal": $(total 'Checkout::price' "${from[@]}" $orders/orders.reel | tr -d "% "), "priceSelf": $(self 'Checkout::price' "${from[@]}" $orders/orders.reel),
    "searches": { "shop::walk": "$share", "CHECKOUT::TAX": "$(total 'Checkout::tax' "${from[@]}" $orders/orders.reel)",
        "by_value": "$(total by_value "${from[@]}" $orders/orders.reel)", "no such function": "0.00 %" },
    "all": $(sum "${from[@]}" $orders/orders.reel), "range": $(sum "${from[@]}" --time 0.2..0.4 $orders/orders.reel),
    "threads": $(sum --no-host-files testdata/riscv64/chains/gcc/threads.reel),
    "diffName": "shop::by_value", "diffShare": $(total by_value "${from[@]}" $orders/orders.reel | tr -d "% ")
}
END
mkdir -p "${SHOTS:-$work}"
node tests/export/flamegraph_page.mjs "$work" "$playwright" "$chromium" ${SHOTS:+"$(realpath "$SHOTS")"} >"$work/out" 2>"$work/err"
sed '$d' "$work/out"
cat "$work/err"
read -r more _ bad _ < <(tail -n 1 "$work/out")
passed=$((passed + ${more:-0})) failed=$((failed + ${bad:-1}))
finish
