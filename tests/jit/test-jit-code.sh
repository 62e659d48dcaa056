#!/bin/bash
# Code outside of files: the recording keeps exactly the code that the program wrote, before and after it overwrote it, and no other
# executable memory. The amount is limited, and the feature can be turned off.
# run.sh: records thorough
# checks: record/jit
# shellcheck disable=SC2181
. "$(dirname "$0")/../count.sh"

[ -x "$recorder" ] || { skip "$recorder is not built"; finish; }
[ "$(uname -m)" = x86_64 ] || { skip "tests/programs/jit.c writes x86-64 code"; finish; }
[ "$(id -u)" = 0 ] || { skip "recording needs root"; finish; }
jit=$work/jit
"${CC:-cc}" -O1 -Wall -Werror -o "$jit" tests/programs/jit.c || { failed=1; finish; }

# record NAME OPTION... HOW MS
record() {
    local name=$1
    shift
    "$recorder" -o "$work/$name.reel" "${@:1:$#-2}" -- "$jit" "${@: -2}" >"$work/$name.txt" 2>"$work/err"
    count $? "$name: record"
}

codes() {
    "$stackreel" dump "$1" | grep -c ' CODE '
}

for how in rwx wx memfd pushed; do
    record $how $how 2500
    ok "$how: both versions of the code, and nothing else" python3 -B tests/jit/jit_code_check.py "$work/$how.txt" "$stackreel" "$work/$how.reel"
    # Of a page that a busy host reads late, nobody knows the bytes for some time after they changed.
    ok "$how: complete traces" "$stackreel" info --min-complete 60 "$work/$how.reel"
done
record raw --raw-stacks rwx 2500
ok "raw stacks: same code" python3 -B tests/jit/jit_code_check.py "$work/raw.txt" "$stackreel" "$work/raw.reel"
ok "scrub keeps the code" "$stackreel" scrub -q -o "$work/scrubbed.reel" "$work/raw.reel"
[ "$(codes "$work/scrubbed.reel")" = "$(codes "$work/raw.reel")" ]
count $? "... completely"
ok "shrink keeps the code" "$stackreel" shrink -q -o "$work/shrunk.reel" "$work/raw.reel"
[ "$(codes "$work/shrunk.reel")" = "$(codes "$work/raw.reel")" ]
count $? "... completely"

# Each part of a rotated recording can be replayed alone.
record parts --rotate=3s rwx 4000
ok "parts of a rotation" python3 -B tests/jit/jit_code_check.py "$work/parts.txt" "$stackreel" "$work"/parts.0*.reel

record none --jit-code=no rwx 300
[ "$(codes "$work/none.reel")" = 0 ]
count $? "--jit-code=no"
record many --jit-code=64K many 500
has err '[0-9]+ pages of JIT code left out'
ok "the file reports skipped code" bash -c "'$stackreel' info '$work/many.reel' | grep -q 'pages of JIT code left out'"
bytes=$("$stackreel" dump "$work/many.reel" | sed -n 's/.* CODE .*bytes=\([0-9a-f]*\).*/\1/p' | tr -d '\n' | wc -c)
[ "$bytes" -gt 0 ] && [ "$bytes" -le $((2 * 65536)) ]
count $? "--jit-code=64K: $((bytes / 2)) bytes"

# An executable stack is not JIT code.
cat >"$work/stack.c" <<'END'
#include <string.h>
#include <time.h>
int main(void)
{
	char secret[3000];
	volatile long n = 0;
	clock_t end = clock() + CLOCKS_PER_SEC / 2;

	memset(secret, 's', sizeof(secret));
	while (clock() < end)
		n += secret[n % 3000] != 0;
	return 0;
}
END
"${CC:-cc}" -O0 -z execstack -w -o "$work/stack" "$work/stack.c" || { failed=1; finish; }
"$recorder" -q -o "$work/stack.reel" -- "$work/stack" 2>"$work/err"
count $? "record with an executable stack"
[ "$(codes "$work/stack.reel")" = 0 ]
count $? "does not keep an executable stack"
# A program that is deleted while it runs.
"$work/jit" rwx 20000 >"$work/deleted.txt" &
pid=$!
for _ in {1..1000}; do [ "$(readlink "/proc/$pid/exe")" != "$work/jit" ] || break; sleep 0.01; done
rm "$work/jit"
"$recorder" -q -o "$work/deleted.reel" -p $pid --duration 1 2>"$work/err"
count $? "record a deleted program"
kill $pid
wait $pid 2>"$work/out"
"$stackreel" dump "$work/deleted.reel" | python3 -c '
import re, sys
modules, maps, code = {}, [], []
for line in sys.stdin:
    f = dict(re.findall(r"(\w+)=(\"[^\"]*\"|\S+)", line))
    if " MODULE " in line: modules[f["id"]] = f["path"]
    elif " MAP " in line: maps.append((int(f["address"], 16), int(f["size"], 16), modules[f["module"]]))
    elif " CODE " in line: code.append(int(f["address"], 16))
deleted = [m for m in maps if m[2].endswith("jit (deleted)\"")]
sys.exit(not (deleted and any(a <= c < a + s for a, s, _ in deleted for c in code)))'
count $? "... and has its code"
finish
