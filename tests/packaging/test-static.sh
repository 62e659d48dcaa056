#!/bin/bash
# `make static` builds a stackreel that needs nothing from its host: in a folder with only itself, a capture and its program, its output
# equals the dynamic one's.
#
#   O=DIR   the object directory (build)
# run.sh: makes
. "$(dirname "$0")/../count.sh"
export LC_ALL=C # the only one that a host without files knows
orders=testdata/aarch64/orders

if ! make -s O="$O" "$O/static/stackreel" >"$work/out" 2>"$work/err"; then
    skip "cannot link statically: $(grep -m1 -E 'cannot find|undefined' "$work/err")"
    finish
fi
[ ! -s "$work/err" ]
count $? "linking without messages"
enter=(chroot)
[ "$(id -u)" = 0 ] || enter=(unshare -r chroot)
if ! "${enter[@]}" / true 2>"$work/err"; then
    skip "chroot failed: $(head -n 1 "$work/err")"
    finish
fi

mkdir "$work/root"
cp "$O/static/stackreel" "$work/root/"
cp -r $orders/orders.reel $orders/usr "$work/root/"
# same COMMAND OPTION...
same() {
    "$O/stackreel" "$@" --no-host-files --symfs $orders $orders/orders.reel | sed "s|$orders/||g" >"$work/wanted"
    run 0 "${enter[@]}" "$work/root" /stackreel "$@" orders.reel
    # At its recorded path is a different file, matched by build-id.
    cmp -s "$work/wanted" "$work/out"
    count $? "$1: $(diff "$work/wanted" "$work/out" | head -n 3)"
}
same report
same report --tree
same report --sandbox
same script --ns
same folded -j 4
DEBUGINFOD_URLS=http://127.0.0.1:9 same report

# With only a self-contained capture in the folder.
mkdir "$work/empty"
cp "$O/static/stackreel" "$work/empty/"
run 0 "$O/stackreel" pack -q --no-host-files --symfs $orders -o "$work/empty/packed.reel" $orders/orders.reel
run 0 "$O/stackreel" resolve -q --no-host-files --symfs $orders -o "$work/empty/resolved.reel" "$work/empty/packed.reel"
for capture in packed resolved; do
    for command in report script folded; do
        "$O/stackreel" $command -q --no-host-files --symfs $orders $orders/orders.reel | sed -E '1s/^# [^:]*: //' >"$work/wanted"
        run 0 "${enter[@]}" "$work/empty" /stackreel $command -q $capture.reel
        sed -E '1s/^# [^:]*: //' "$work/out" >"$work/found"
        cmp -s "$work/wanted" "$work/found"
        count $? "$command of $capture.reel: $(diff "$work/wanted" "$work/found" | head -n 4)"
    done
done
finish
