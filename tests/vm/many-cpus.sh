#!/bin/bash
# many-cpus.sh CPUS [OUTDIR] - record page faults on all CPUs of a guest with many, with a ring for each
#
# Each CPU makes more samples than its ring holds, and so many CPUs leave the recorder little time: for each CPU, the samples in the file and
# the lost ones that were counted must be at least as many as the program made. Prints what the recorder took, and the sums. To boot takes 8 s
# of CPU time with 16 emulated CPUs and 37 s with 64, so this is not part of `make test-all`.
#   FAULTS=…   of each CPU (60)
#   CELL=…     of tests/vm/cells.sh (arm64-6.12)
# Status: as run.sh's, or 1 if samples are missing.
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# = 1 ] || [ $# = 2 ] || usage
cpus=$1 faults=${FAULTS:-60}
guest_recorder "${CELL:-arm64-6.12}" "${2:-}"
outdir=${outdir:-$work/result}
"${prefix}gcc" -O2 -g -static -pthread -o "$work/all_cpus" "$root/tests/programs/all_cpus.c" "-ffile-prefix-map=$root=."
cat >"$work/script" <<-SCRIPT
	cd /out
	# What the recorder takes, too: descriptors, rings, and the kernel's memory of its maps.
	cat >/root/command <<-'END'
		ls /proc/\$PPID/fd | wc -l >descriptors
		cat /proc/\$PPID/fdinfo/* >maps
		exec all_cpus $faults
	END
	stackreel-record -a -e page-faults -c 1 --rings $cpus --ring-size 64K --max-stack 4K --embed=none -o many.reel -- sh /root/command >many.log 2>&1
	status=\$?
	cat many.log
	exit \$status
SCRIPT
export STACKREEL_VM_CPUS=$cpus STACKREEL_VM_MEMORY=${STACKREEL_VM_MEMORY:-4000} STACKREEL_VM_ICOUNT=shift=3,sleep=off
export STACKREEL_VM_BOOT=${STACKREEL_VM_BOOT:-1800} STACKREEL_VM_TIMEOUT=${STACKREEL_VM_TIMEOUT:-3600}
start=$SECONDS
"$vm/run.sh" "$cell" "$work/script" "$outdir" "$recorder" "$work/all_cpus" || quit $?
took=$((SECONDS - start))
awk '/^map_type/ { ring = $2 == 27 } /^max_entries/ { rings += ring } /^memlock/ { all += $2; of_rings += ring * $2 }
	END { printf "%d rings, %.1f MB of them, %.1f MB of all maps; ", rings, of_rings / 1e6, all / 1e6 }' "$outdir/maps"
echo "$(cat "$outdir/descriptors") descriptors"
"$root/tests/reader/reel_reader.py" "$outdir/many.reel" | python3 -c '
import collections, json, sys

cpus, faults, seconds = map(int, sys.argv[1:])
written, lost = collections.Counter(), collections.Counter()
for line in sys.stdin:
    record = json.loads(line)
    if record.get("record") == "SAMPLE":
        written[record["cpu"]] += 1
    # The ring was full or locked, or the recorder dropped the sample.
    elif record.get("record") == "LOSS" and record["cause"] in (1, 2, 6):
        lost[record["cpu"]] += record["count"]
wrong = [cpu for cpu in range(cpus) if written[cpu] + lost[cpu] < faults or not written[cpu]]
print(f"{cpus} CPUs of {faults} samples and more: {written.total():,} written, {lost.total():,} counted as lost; "
      f"samples missing on {len(wrong)} CPUs {wrong[:5] if wrong else str()}({seconds} s)")
sys.exit(1 if wrong or not lost.total() else 0)' "$cpus" "$faults" "$took"
