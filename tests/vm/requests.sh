#!/bin/bash
# requests.sh CELL OUTDIR - record tests/programs/requests.c, which publishes the requests that its threads work for, on another kernel
#
# Leaves in OUTDIR: NAME.reel and NAME.log of each recording, and the programs and libraries below usr. Status: as run.sh's.
set -euo pipefail
. "$(dirname "$0")/common.sh"
guest_recorder "$@"
dialects="gnu gnu2"
[ "$arch" != arm64 ] || dialects="trad desc"
mkdir -p "$work/usr/bin"
build() {
	"${prefix}gcc" -O1 -g -pthread -o "$work/usr/bin/$1" "${@:2}" "$root/tests/programs/requests.c"
}
build requests -Wl,--export-dynamic-symbol=otel_thread_ctx_v1
build user -DREQUESTS_LIBRARY
build mapped -DREQUESTS_MAP
for dialect in $dialects; do
	build "$dialect.so" -DREQUESTS_PUBLISHER -fPIC -shared "-mtls-dialect=$dialect"
done
libraries=$(CROSS_COMPILE=$prefix "$vm/libs.sh" "$work/usr/bin/requests")

cat >"$work/script" <<SCRIPT
cd /out
recording() {
	name=\$1
	shift
	stackreel-record -F 499 -o \$name.reel "\$@" 2>\$name.log || echo "failed: \$name"
	cat \$name.log
}
recording executable -- requests 4
recording bad -- requests 4 bad
for dialect in $dialects; do
	recording \$dialect -- user 4 /usr/bin/\$dialect.so
done
recording waits --off-cpu=199 --wakers -- requests 4
mkdir /sys/fs/bpf/otel
mapped 300 /sys/fs/bpf/otel/traces_ctx_v1 &
sleep 1
recording map --duration 3 -p \$!
recording map-waits --off-cpu=199 --wakers --duration 3 -p \$!
kill \$!
SCRIPT
status=0
# shellcheck disable=SC2086 # a list of words
STACKREEL_VM_CPUS=2 STACKREEL_VM_TIMEOUT=${STACKREEL_VM_TIMEOUT:-900} "$vm/run.sh" "$cell" "$work/script" "$work/out" \
	"$recorder" $libraries $(cd "$work" && for file in usr/bin/*; do echo "$work/$file=/$file"; done) || status=$?
if [ $status = 0 ]; then
	mkdir -p "$outdir/usr/bin"
	cp "$work/out/"* "$outdir/"
	chmod 644 "$outdir"/*.*
	cp "$work/usr/bin/"* "$outdir/usr/bin/"
fi
exit $status
