#!/bin/bash
# Compares `stackreel table` with readelf's interpretation of the same .eh_frame: the CFA and the return address of each row that readelf
# prints.
# checks: cfi replay/api
. "$(dirname "$0")/../count.sh"

compare() {
    python3 - "$@" <<'PY'
import re, subprocess, sys
stackreel, path, arch = sys.argv[1:4]

# readelf's rows: address, CFA, then columns named in its header.
theirs, header = {}, []
for line in subprocess.run(["readelf", "--debug-dump=frames-interp", path], capture_output=True,
                           text=True).stdout.splitlines():
    words = line.split()
    if words[:2] == ["LOC", "CFA"]:
        header = words
    elif header and re.fullmatch("[0-9a-f]{16}", words[0] if words else "") and len(words) == len(header):
        row = dict(zip(header, words))
        theirs[int(row["LOC"], 16)] = (row["CFA"], row.get("ra", "u"))
    else:
        header = header if not words or words[0] == "DW_CFA_nop" else []

ours = {}
for line in subprocess.run([stackreel, "table", path], capture_output=True, text=True).stdout.splitlines():
    words = line.split()
    if not line.startswith("#"):
        ours[int(words[0], 16)] = (words[2], words[3])

checked = wrong = 0
for address, (cfa, ra) in theirs.items():
    if address not in ours:
        continue  # empty rows, and rows of CIEs (at 0)
    checked += 1
    mine = ours[address]
    # We name the register that still holds it, which is not always x30 (_dl_tlsdesc_…).
    link = arch == "aarch64" and ra in "us" and re.fullmatch("x[0-9]+", mine[1])
    if mine[0] != cfa or not (mine[1] == ra or link):
        wrong += 1
        if wrong < 10:
            print("%x: readelf %s %s, ours %s %s" % (address, cfa, ra, *mine))
print("%s: %d rows compared, %d differ" % (path, checked, wrong))
sys.exit(1 if wrong or checked < 100 else 0)
PY
}

for file in x86_64:/lib/x86_64-linux-gnu/libc.so.6 x86_64:/usr/lib/x86_64-linux-gnu/libstdc++.so.6 \
    aarch64:testdata/aarch64/orders/usr/bin/orders aarch64:/usr/aarch64-linux-gnu/lib/libc.so.6; do
    if [ ! -e "${file#*:}" ]; then
        echo "skip: no ${file#*:}"
        skipped=$((skipped + 1))
    elif compare "$O/stackreel" "${file#*:}" "${file%%:*}"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done
finish
