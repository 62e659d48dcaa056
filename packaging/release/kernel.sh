#!/bin/bash
# The static programs on the oldest kernel that README promises, 5.10, of Debian 11: they record and replay in guests of x86-64 and, for the
# recorder alone, of arm64.
. "$(dirname "$0")/../../tests/count.sh"
oldest=5.10
grep -q "Linux $oldest or newer" README.md
count $? "README promises Linux $oldest"
ok "make static, and the program that replays here" make -s -j"$(nproc)" O="$O" static "$O/stackreel"
for program in stackreel stackreel-record; do
    # Nothing to load: no interpreter, no library.
    LC_ALL=C readelf -ld "$O/static/$program" >"$work/out" 2>&1 && ! grep -qE 'INTERP|NEEDED' "$work/out"
    count $? "$program is static"
done
CELLS="x86_64-$oldest arm64-$oldest" tests/vm/test-guests.sh >"$work/out" 2>&1
status=$?
grep -v ' passed, ' "$work/out"
count $status "guests with Linux $oldest: $(tail -n 1 "$work/out")"
! grep -q '^skip' "$work/out" || skip "a guest (above)"
finish
