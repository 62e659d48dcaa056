#!/bin/bash
# The modules of `stackreel view`'s page, in node: names, transforms, trees, links; and pages of captures, read by the page's own modules, against
# what `folded` and `export` say of the same samples. With TypeScript (npm, in tests/npm), types are checked as well.
#
#   O=DIR   the object directory (build)
# run.sh: thorough
# checks: cli/page
. "$(dirname "$0")/../count.sh"
tool=$O/stackreel

orders=testdata/aarch64/orders
from=(--no-host-files --symfs $orders --debug-dir $orders $orders/orders.reel)
threads=(--no-host-files testdata/riscv64/chains/gcc/threads.reel)

run 0 "$tool" view -o "$work/orders.html" "${from[@]}"
"$tool" folded "${from[@]}" >"$work/orders.folded"
"$tool" folded --time 0.2..0.4 "${from[@]}" >"$work/orders-range.folded"
"$tool" folded --names=short "${from[@]}" >"$work/orders-short.folded"
run 0 "$tool" view -o "$work/diff-names.html" --no-host-files --symfs $orders --symfs testdata/i386/orders testdata/i386/orders/orders.reel $orders/orders.reel
"$tool" export --format=ndjson "${from[@]}" | python3 tests/page/expected_amounts.py >"$work/orders.report.json"
run 0 "$tool" view -o "$work/threads.html" "${threads[@]}"
"$tool" folded "${threads[@]}" >"$work/threads.folded"
"$tool" export --format=ndjson "${threads[@]}" | sed -nE '$s/.*"tid":([0-9]+).*/\1/p' >"$work/threads.tid"
"$tool" folded --tid "$(cat "$work/threads.tid")" "${threads[@]}" >"$work/threads-one.folded"
python3 tests/page/make_captures.py waits "$work/waits.reel"
run 0 "$tool" view -o "$work/waits.html" "$work/waits.reel"
"$tool" folded --event cpu-clock "$work/waits.reel" >"$work/waits.folded"
"$tool" folded --event off-cpu --label lock=0x7001 "$work/waits.reel" >"$work/waits-lock.folded"
"$tool" folded --event off-cpu --label lock= "$work/waits.reel" >"$work/waits-no-lock.folded"
"$tool" folded --event cpu-clock --container "$(printf %064x $((0xabc1)))" "$work/waits.reel" >"$work/waits-container.folded"
run 0 "$tool" view --by state,comm --event off-cpu -o "$work/groups.html" "$work/waits.reel"
"$tool" folded --by state,comm --event off-cpu "$work/waits.reel" >"$work/groups.folded"
"$tool" folded --by comm --event cpu-clock "$work/waits.reel" >"$work/waits-comm.folded"
run 1 "$tool" view --by arg1 -o "$work/none.html" "$work/waits.reel"
has err "has the label 'arg1'"
python3 tests/page/make_captures.py many "$work/many.reel" 2000 5
run 0 "$tool" view -o "$work/many.html" "$work/many.reel"
"$O/bench/repeat" 1200 $orders/orders.reel "$work/long.reel" >/dev/null
run 0 "$tool" view -o "$work/long.html" "${from[@]:0:5}" "$work/long.reel"

for side in before after; do python3 tests/page/make_captures.py $side "$work/$side.reel"; done
run 0 "$tool" view -o "$work/diff.html" "$work/before.reel" "$work/after.reel"
"$tool" diff --json "$work/before.reel" "$work/after.reel" >"$work/diff.json"
"$tool" diff --folded "$work/before.reel" "$work/after.reel" >"$work/diff.folded"
run 0 "$tool" view --by comm --per second --run-noise 1 -o "$work/diff-groups.html" "$work/before.reel" "$work/before.reel" --new "$work/after.reel"
"$tool" diff --by comm,function --per second --run-noise 1 --json "$work/before.reel" "$work/before.reel" --new "$work/after.reel" >"$work/diff-groups.json"
run 0 bash -c '"$1" view -q -o "$2/a.html" "$2/before.reel" - <"$2/after.reel"' - "$tool" "$work"
run 2 "$tool" view --per second "$work/after.reel"
has err 'needs two captures'
run 2 "$tool" view --by thread "$work/before.reel" "$work/after.reel"
run 2 "$tool" view "$work/before.reel" "$work/before.reel" "$work/after.reel"
run 2 "$tool" view - "$work/after.reel"
"$tool" aggregate -q -o "$work/after.profile" "$work/after.reel"
run 1 "$tool" view -o "$work/a.html" "$work/before.reel" "$work/after.profile"
has err 'after.profile: comparisons need captures'

# Source code: of the files given, of none, too much of it, and hostile.
run 0 "$tool" view --source-path testdata/programs -o "$work/code.html" "${from[@]}"
"$tool" annotate --json "shop::by_value(" "${from[@]}" >"$work/annotate.json"
run 0 "$tool" view --source -o "$work/no-code.html" "${from[@]}"
mkdir "$work/long" "$work/hostile"
awk '{ printf "%s%20000s\n", $0, "" }' testdata/programs/orders.cc >"$work/long/orders.cc"
run 0 "$tool" view --source-path "$work/long" -o "$work/long-code.html" "${from[@]}"
sed 's|.*|</script><img src=x onerror="document.title=1">\xe2\x80\xae\x1b[31m \\|' testdata/programs/orders.cc >"$work/hostile/orders.cc"
run 0 "$tool" view --source-path "$work/hostile" -o "$work/hostile-code.html" "${from[@]}"
ok "no text of a file is in a page as it is" test "$(grep -c onerror "$work/hostile-code.html")" = 0
run 0 "$tool" flamegraph --source-path testdata/programs -o "$work/same.html" "${from[@]}"
ok "flamegraph --source-path: the same page" cmp "$work/same.html" "$work/code.html"
run 1 "$tool" view --source -o "$work/a.html" "$work/after.profile"
has err 'source needs a capture'

# A page is as private as umask wants, and one without -o as its folder.
(umask 027 && "$tool" view -q -o "$work/umask.html" "${from[@]}")
ok "a page's mode is umask's" test "$(stat -c %a "$work/umask.html")" = 640
run 0 env -u DISPLAY -u WAYLAND_DISPLAY -u SSH_CONNECTION TMPDIR="$work" "$tool" view "${from[@]}"
has err 'wrote .*/orders\.html; open it in a browser \(there is no display; --serve is another way\)$'
ok "without -o, a page is private" test "$(stat -c %a "$work"/stackreel-*) $(stat -c %a "$work"/stackreel-*/orders.html)" = '700 600'
run 0 env SSH_CONNECTION=x DISPLAY=:0 TMPDIR="$work" "$tool" view "${from[@]}"
has err 'this is an ssh session'
rm -rf "$work"/stackreel-*
run 1 env TMPDIR="$work" "$tool" view "$work/no-such.reel"
ok "nothing stays after an error" test -z "$(find "$work" -name 'stackreel-*')"
head -c -5000 $orders/orders.reel >"$work/damaged.reel"
run 1 env -u DISPLAY -u WAYLAND_DISPLAY TMPDIR="$work" "$tool" view "${from[@]:0:5}" "$work/damaged.reel"
has err 'wrote .*/damaged\.html; open it'
rm -rf "$work"/stackreel-*
if [ "$(id -u)" = 0 ]; then
    run 0 env -u SSH_CONNECTION DISPLAY=:0 TMPDIR="$work" "$tool" view "${from[@]}"
    has err 'browsers do not run as root'
fi
run 0 bash -c '"$1" view -o - "${@:3}" <"$2"' - "$tool" $orders/orders.reel "${from[@]:0:5}" -
ok "standard input, in the sandbox: the same page" test "$(grep -c 'id="content"' "$work/out")" = 1

run 0 "$tool" view --firefox -o "$work/firefox.html" "${from[@]}"
"$tool" export --format=firefox -o "$work/firefox.json" "${from[@]}"
sed -nE 's|.*id="content">([^<]*)<.*|\1|p' "$work/firefox.html" | base64 -d | gzip -d >"$work/handed.json"
ok "--firefox: the page has export's profile" cmp "$work/firefox.json" "$work/handed.json"
"$tool" export --format=firefox -o "$work/firefox-waits.json" "$work/waits.reel"
ok "firefox: of two events, the threads that work are shown first" python3 - "$work/firefox-waits.json" <<'END'
import json
import sys
profile = json.load(open(sys.argv[1]))
shown = [profile["threads"][number] for number in profile["meta"]["initialVisibleThreads"]]
waits = [thread for thread in profile["threads"] if thread["name"].endswith(" off-cpu")]
sys.exit(not (shown and waits and all(thread not in waits for thread in shown) and not any(thread["isMainThread"] for thread in waits)))
END
run 2 "$tool" view --firefox --by comm -o "$work/a.html" "${from[@]}"
has err '--firefox shows one capture, without --by, --values and --source'
run 0 "$tool" aggregate -q -o "$work/one.profile" "${from[@]}"
run 1 "$tool" view --firefox -o "$work/a.html" "$work/one.profile"
has err 'needs a capture, not a profile'

ok "--serve: the same page, at one address" python3 tests/page/serve_check.py "$work/orders.html" "$tool" view "${from[@]}"
for address in 0.0.0.0:0 192.0.2.1:80; do
    run 1 "$tool" view --serve=$address "${from[@]}"
    has err 'not a loopback address'
done
run 1 "$tool" view --serve=no-port-name "${from[@]}"
run 2 "$tool" view --serve -o "$work/a.html" "${from[@]}"

if [ "$(node --version 2>/dev/null | sed -E 's/^v([0-9]+).*/\1/')" -ge 20 ] 2>/dev/null; then
    PAGES=$work node --test --test-reporter=tap tests/page/modules/*.test.mjs >"$work/tap" 2>&1
    grep -E '^not ok|^ +error:|^ +(expected|actual):' "$work/tap"
    passed=$((passed + $(sed -nE 's/^# pass //p' "$work/tap"))) failed=$((failed + $(sed -nE 's/^# fail //p' "$work/tap" | grep . || echo 1)))
else
    skip "node 20 is not installed: the modules themselves"
fi

tsc=tests/npm/node_modules/typescript/bin/tsc
if [ -e $tsc ]; then
    ok "types" node $tsc -p cli/page/web
else
    skip "npm's TypeScript is not installed (make deps test-all fetches it): types"
fi
finish
