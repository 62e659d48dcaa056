#!/bin/bash
# capture.sh [NAME...] - make the captures in testdata again, or only those whose name contains one of NAME (make vm-capture)
#
# Each generator writes its files to a temporary folder and checks them there. Only correct files are copied to testdata, where `git diff`
# shows the changes. Needs stackreel in $O (build), and what the vm scripts need. Status: 0 if all were made.
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$vm/../.."
O=$(realpath -m "${O:-build}")
export O
workspace
status=0

# captures NAME COMMAND...: runs a generator with $dir set to an empty folder
captures() {
	local name=$1 wanted=${#names[@]} one
	shift
	for one in "${names[@]}"; do [[ $name != *"$one"* ]] || wanted=0; done
	[ "$wanted" = 0 ] || return 0
	dir=$work/$name
	mkdir -p "$dir"
	# not with `||`, which would disable errexit in it
	set +e
	(set -e; "$@") >"$work/log" 2>&1
	local result=$?
	set -e
	if [ $result = 0 ]; then
		echo "$name: made"
	else
		tail -n 20 "$work/log" | sed 's/^/    /'
		echo "$name: FAILED"
		status=1
	fi
}

# into FOLDER FILE...: copies files from $dir to testdata/FOLDER
into() {
	local folder=testdata/$1 file
	shift
	for file; do install -D -m "$([[ $file = usr/bin/* ]] && echo 755 || echo 644)" "$dir/$file" "$folder/$file"; done
}

# orders CELL FOLDER [VARIABLE=VALUE...]
orders() {
	env SECONDS_OF_CPU=1 "${@:3}" tests/vm/orders.sh "$1" "$dir"
	"$O/stackreel" folded --min-complete 99 --no-host-files --symfs "$dir" "$dir/orders.reel" | tests/chains/orders_chains.py --min 200
	into "$2" orders.reel usr/bin/orders
}

# stairs CELL CPU: tests/truth/import-guests.sh explains which differences of import_guests.py each CPU may have.
stairs() {
	local mode allow=longer
	tests/vm/stairs.sh "$1" "$dir"
	[ "$2" = x86_64 ] || allow=longer,"no frame"
	[ "$2" != aarch64 ] || allow="longer,link register"
	for mode in dwarf fp; do
		HOME=$dir "$O/stackreel" import -q --raw-stacks -o "$dir/capture" "$dir/$mode.data"
		"$O/stackreel" script --ns --no-host-files --symfs "$dir" "$dir/capture" >"$dir/ours"
		"$O/stackreel" dump -q "$dir/capture" >"$dir/records"
		tests/truth/import_guests.py --symfs "$dir" --records "$dir/records" --allow "$allow" "$dir/ours" "$dir/$mode.script"
		"$O/stackreel" folded -q --no-host-files --symfs "$dir" "$dir/capture" >"$dir/$mode.folded"
	done
	into "$2/perf" {dwarf,fp}.{data,folded} usr/bin/stairs
}

names=("$@")
captures aarch64/orders orders arm64-6.12 aarch64/orders
captures i386/orders orders x86_64-6.12 i386/orders PROGRAM_ARCH=i386 SECONDS_OF_CPU=6
captures x86_64/perf stairs x86_64-6.12 x86_64
captures aarch64/perf stairs arm64-6.12 aarch64
captures riscv64/perf stairs riscv64-6.12 riscv64
captures s390x/perf stairs s390x-6.12 s390x
# This script checks its files and copies the correct ones itself.
for cpu in $(cd testdata && echo */chains/symfs.tar.xz); do captures "${cpu%/*}" tests/matrix/capture.sh "${cpu%%/*}"; done
exit $status
