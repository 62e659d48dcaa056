#!/bin/bash
# orders.sh CELL OUTDIR - record testdata/programs/orders.cc with our own recorder on another kernel
#
# Leaves OUTDIR/orders.reel, OUTDIR/usr/bin/orders and more: see record.sh.
#   SECONDS_OF_CPU=N   how long orders runs (default 2)
#   RECORD_OPTIONS=…   additional options of stackreel-record
#   PROGRAM_ARCH=i386  build orders as 32-bit code, for an x86_64 kernel
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# = 2 ] || usage
RECORD_OPTIONS="-F 999 ${RECORD_OPTIONS:-}" exec "$vm/record.sh" "$1" "$2" orders "${SECONDS_OF_CPU:-2}"
