#!/bin/bash
# A complete example: records a C++ program with eBPF and shows its profile. Without the right to use BPF, it
# replays the bundled capture from an arm64 machine instead, with a message.
#
#   O=DIR   the object directory (build)
set -eu
cd "$(dirname "$0")/.."
O=${O:-build}
stackreel=$O/stackreel
work=$O/demo
mkdir -p "$work"

replay_shipped() {
    echo
    echo "Instead, here is a capture from an arm64 kernel, replayed on this $(uname -m):"
    echo "    stackreel report --no-host-files --symfs testdata/aarch64/orders testdata/aarch64/orders/orders.reel"
    "$stackreel" report --stdio --no-host-files --symfs testdata/aarch64/orders --percent-limit 0.5 testdata/aarch64/orders/orders.reel
}

echo "Building the workload: g++ -O2 -g -fomit-frame-pointer testdata/programs/orders.cc"
g++ -O2 -g -fomit-frame-pointer -o "$work/orders" testdata/programs/orders.cc

if [ ! -x "$O/stackreel-record" ]; then
    echo "stackreel-record was not built; it needs clang and libbpf (make deps)."
    replay_shipped
    exit
fi

# Recording needs root; the file belongs to the user, since the shell opens it.
sudo=()
[ "$(id -u)" = 0 ] || ! command -v sudo >/dev/null || sudo=(sudo)
echo "Recording it:          ${sudo[*]+${sudo[*]} }stackreel-record -F 999 -o - -- orders 2 >orders.reel"
if ! ${sudo[@]+"${sudo[@]}"} "$O/stackreel-record" -F 999 -o - -- "$work/orders" 2 >"$work/orders.reel" 2>"$work/record.log"; then
    echo "Recording is not possible here:"
    sed 's/^/    /' "$work/record.log"
    replay_shipped
    exit
fi
cat "$work/record.log"
echo "Its profile:           stackreel report orders.reel"
echo
"$stackreel" report --stdio --percent-limit 0.5 "$work/orders.reel"
