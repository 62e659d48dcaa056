#!/bin/bash
# kernel.sh [CELL...] - compare kernel frames, inlined functions and lines recorded in guests with addr2line and llvm-symbolizer
#
# In each guest (x86_64-6.12, arm64-6.12), with KASLR, our recorder records the kernel while a module is loaded, used, unloaded, and loaded
# again.
# The debug information is from Debian's -dbg package (1 GB per cell, kept in the cache). A kernel address
# fails if both symbolizers agree with each other but not with us; a module's address if addr2line disagrees. O=DIR: the object directory.
. "$(dirname "$0")/../count.sh"
[ "${O#/}" = "$O" ] && O=$PWD/$O
dir=$work
cache=${STACKREEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/stackreel}
[ $# -gt 0 ] || set -- x86_64-6.12 arm64-6.12

for program in llvm-symbolizer python3 xz dpkg-deb; do
    command -v $program >/dev/null || {
        skip "$program is not installed"
        finish
    }
done

# debug_package SUITE ARCH RELEASE: prints the folder with the needed files.
debug_package() {
    local at=$cache/debug/$1-$2-$3 package=linux-image-$3-dbg
    if [ ! -e "$at/complete" ]; then
        rm -rf "$at" && mkdir -p "$at" &&
            (cd "$at" && "$OLDPWD/tests/vm/apt.sh" "$1" "$2" apt-get -o Debug::NoLocking=1 download "$package" >log 2>&1 &&
                dpkg-deb --fsys-tarfile ./*.deb | tar x --wildcards '*/boot/vmlinux*' '*/drivers/block/brd.ko' && rm ./*.deb) &&
            touch "$at/complete" || return
    fi
    echo "$at/usr/lib/debug"
}

# record CELL ARCH: runs brd.ko and the recorder in a guest; leaves $dir/CELL/k.reel.
record() {
    local cell=$1 arch=$2 kernel=$3 cross=() file
    [ "$arch" = "$(dpkg --print-architecture)" ] || read -ra cross < <(tests/vm/cross.sh "$arch")
    make -s O="$O/vm-$arch" "${cross[@]}" static >&2 || return
    file=$(find "$kernel/lib/modules" -name 'brd.ko*' | head -n 1)
    xz -dc "$file" >"$dir/brd.ko" || return
    cat >"$dir/script" <<-'SCRIPT'
		cd /out
		stackreel-record -a -g -F 299 -o k.reel 2>log & record=$!
		while [ ! -s k.reel ]; do sleep 0.2; done
		for round in 1 2; do
			insmod /brd.ko rd_nr=1 rd_size=65536
			for n in 1 2 3 4; do dd if=/dev/zero of=/dev/ram0 bs=64k count=800 conv=fsync; done 2>/dev/null
			find / -xdev >/dev/null 2>&1
			rmmod brd
			sleep 2
		done
		kill -INT $record
		wait $record
		status=$?
		cat log
		exit $status
	SCRIPT
    STACKREEL_VM_TIMEOUT=600 tests/vm/run.sh "$cell" "$dir/script" "$dir/$cell" "$O/vm-$arch/static/stackreel-record" "$dir/brd.ko=/brd.ko"
}

[ -x "$O/tests/names/trace_symbols" ] || make -s O="$O" "$O/tests/names/trace_symbols" >&2
for cell; do
    read -r suite arch package _ < <(tests/vm/cells.sh "$cell") || exit
    kernel=$(tests/vm/kernel.sh "$suite" "$arch" "$package") && debug=$(debug_package "$suite" "$arch" "$(cat "$kernel/release")") || {
        skip "$cell: no kernel with its debug package"
        continue
    }
    echo "== $cell"
    record "$cell" "$arch" "$kernel" || {
        count 1 "$cell: recording"
        continue
    }
    addr2line=addr2line
    [ "$arch" != arm64 ] || addr2line=aarch64-linux-gnu-addr2line
    "$O/tests/names/trace_symbols" --kernel --debug-dir "$debug" "$dir/$cell/k.reel" >"$dir/answers"
    awk -F'\t' '/^A/ { of_kernel = $2 ~ /\/vmlinux/ } of_kernel' "$dir/answers" | cut -f1-4 >"$dir/kernel"
    python3 tests/truth/trace_symbols.py --limit 1000000 --addr2line "$addr2line" --eu true "$dir/kernel"
    count $? "$cell: kernel addresses"
    python3 tests/truth/kernel_module.py "$dir/answers" "$(find "$debug" -name brd.ko)" "$addr2line"
    count $? "$cell: module addresses"
    "$O/stackreel" script --no-host-files --debug-dir "$debug" "$dir/$cell/k.reel" | grep -q 'brd_submit_bio.*\[brd\]'
    count $? "$cell: module names"
done
finish
