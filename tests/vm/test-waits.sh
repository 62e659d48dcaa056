#!/bin/bash
# Samples of threads that wait, in guests: each wait has its function and about its time, and a kernel that cannot do this is named.
#   CELLS="…"   the guests
# run.sh: guests thorough
set -u
cd "$(dirname "$0")/../.." || exit
O=${O:-build}
. tests/count.sh
[ -x "$O/stackreel" ] || { skip "$O/stackreel is not built"; finish; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# seconds FUNCTION: of waits below the function
seconds() {
    "$O/stackreel" folded -q --no-host-files --symfs "$dir" --off-cpu --weight=time --unit=s --no-suffix --comm "$1" "$dir/waits.reel" 2>"$work/err" |
        awk -v name="$1" 'index($0, ";" name ";") { n += $NF } END { printf "%.2f\n", n }'
}

for cell in ${CELLS:-arm64-6.12 x86_64-5.10}; do
    echo "$cell:"
    dir=$work/$cell
    recorded "$cell" tests/vm/off-cpu.sh "$cell" "$dir" || continue
    case $cell in
    *-5.10)
        grep -q 'off-cpu: requires Linux 5.18' "$dir/waits.log"
        count $? "$cell: says which kernel is required: $(cat "$dir/waits.log")"
        continue
        ;;
    esac
    # Emulated CPUs are slow: looks are rare, and only long waits count exactly.
    for name in long_sleep holder locker; do
        read -r wall cpu delay < <(awk -v name=$name '$1 == name { print $3 / 1e9, $4 / 1e9, $5 / 1e9 }' "$dir/waits.out")
        found=$(seconds $name)
        awk -v found="$found" -v wall="$wall" -v cpu="$cpu" 'BEGIN { exit !(found > 0.8 * (wall - cpu) && found < 1.2 * (wall - cpu)) }'
        count $? "$cell: $name waits for $found s, of $wall with $cpu on a CPU ($delay without one)"
    done
    "$O/stackreel" info -q --no-host-files --symfs "$dir" "$dir/waits.reel" >"$work/info"
    grep -q 'off-cpu (199 Hz)' "$work/info"
    count $? "$cell: info names the event"
done
finish
