#!/bin/bash
# cells.sh [CELL] - print the table of tested kernels, or one cell's row without its name and the last column
# cells.sh --cpus CELL - print the number of CPUs of its guest
#
# 5.10, 6.1 and 6.12 are the kernels of Debian 11, 12 and 13; sid has the newest. The CPU is qemu's: "max" has pointer
# authentication and 16 KB pages, which cortex-a57 does not have, and is slower. The last columns are the source of the guest's busybox
# and the number of CPUs, if not 2.
set -euo pipefail
table='
arm64-5.10        bullseye  arm64    linux-image-arm64      cortex-a57              bookworm
arm64-6.1         bookworm  arm64    linux-image-arm64      cortex-a57              bookworm
arm64-6.12        trixie    arm64    linux-image-arm64      cortex-a57              bookworm
arm64-6.12-16k    trixie    arm64    linux-image-arm64-16k  max,pauth=off           bookworm
arm64-6.12-pauth  trixie    arm64    linux-image-arm64      max,pauth-impdef=on     bookworm
arm64-sid         sid       arm64    linux-image-arm64      cortex-a57              bookworm
x86_64-5.10       bullseye  amd64    linux-image-amd64      max                     bookworm
x86_64-6.1        bookworm  amd64    linux-image-amd64      max                     bookworm
x86_64-6.12       trixie    amd64    linux-image-amd64      max                     bookworm
x86_64-6.12-8cpu  trixie    amd64    linux-image-amd64      max                     bookworm  8
x86_64-sid        sid       amd64    linux-image-amd64      max                     bookworm
s390x-6.1         bookworm  s390x    linux-image-s390x      max                     bookworm
s390x-6.12        trixie    s390x    linux-image-s390x      max                     bookworm
riscv64-6.12      trixie    riscv64  linux-image-riscv64    rv64                    trixie
'
columns='$2, $3, $4, $5, $6'
if [ "${1:-}" = --cpus ]; then
	columns='$7 ? $7 : 2'
	shift
fi
if [ $# = 0 ]; then
	echo "$table" | sed '/^$/d'
else
	row=$(echo "$table" | awk -v cell="$1" "\$1 == cell { print $columns }")
	if [ -z "$row" ]; then
		echo "cells.sh: unknown cell '$1'; cells:$(echo "$table" | awk 'NF { printf " %s", $1 }')" >&2
		exit 125
	fi
	echo "$row"
fi
