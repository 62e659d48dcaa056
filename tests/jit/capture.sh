#!/bin/bash
# capture.sh - record testdata/programs/jit/ into testdata/x86_64/jit/ again, as root on x86_64
#
# Uses Debian packages of several releases, fetched and run in separate folders. The recorder reads the names that
# the JITs write, and `stackreel pack` embeds the parts of the programs that replay needs. 99 Hz, 1 s.
set -euo pipefail
cd "$(dirname "$0")/../.."
O=$PWD/${O:-build}
out=testdata/x86_64/jit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

# record NAME SUITE PACKAGE COMMAND...: runs the command inside the packages' folder
record() {
	local name=$1 root
	root=$(tests/vm/sysroot.sh "$2" amd64 "$3")
	mkdir -p "$root/tmp" "$root/dev" "$root/proc"
	rm -f "$root"/tmp/*
	cp testdata/programs/jit/* "$root/tmp"
	[ -c "$root/dev/null" ] || mknod -m 666 "$root/dev/null" c 1 3
	"$O/stackreel-record" -q -F 99 --no-cmdline -o "$work/a.reel" -- chroot "$root" "${@:4}"
	"$O/stackreel" pack -q --no-host-files --symfs "$root" -o "$out/$name.reel" "$work/a.reel"
	"$O/stackreel" report --no-host-files "$out/$name.reel" | sed -n '2,4p'
}

record python3.13-perf trixie python3 python3.13 -X perf /tmp/deep.py 1
record python3.13-perf_jit trixie python3 python3.13 -X perf_jit /tmp/deep.py 1
record python3.14-perf sid python3.14 python3.14 -X perf /tmp/deep.py 1
record python3.14-perf_jit sid python3.14 python3.14 -X perf_jit /tmp/deep.py 1
record node-perf-basic-prof trixie nodejs node --perf-basic-prof --interpreted-frames-native-stack /tmp/deep.js 1
record node-perf-prof trixie nodejs node --perf-prof --perf-prof-unwinding-info --interpreted-frames-native-stack --logfile-per-isolate /tmp/deep.js 1
