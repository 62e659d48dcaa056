#!/bin/bash
# annotate, report --by line and script -F on recordings that perf makes on this machine, of a program compiled for the test and of perl.
# Compares the samples of each address with perf annotate, instructions with objdump, lines with eu-addr2line, and fields with perf script.
#
#   tests/cli/test-annotate-live.sh     O=DIR   the object directory (build)
#
# run.sh: thorough
# checks: cli/annotate replay/api
. "$(dirname "$0")/../count.sh"
[ -x "$stackreel" ] || { skip "$stackreel is not built"; finish; }
for tool in perf objdump eu-addr2line gcc; do
    command -v $tool >/dev/null || { skip "$tool is not installed"; finish; }
done
cpu=$(uname -m)
objdump -i | grep -q 'elf64-x86-64\|aarch64' || { skip "objdump does not support $cpu"; finish; }
case $cpu in x86_64 | aarch64) ;; *) skip "no instruction names to compare on $cpu"; finish ;; esac

cat >"$work/busy.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline __attribute__((always_inline)) unsigned mix(unsigned h, unsigned x)
{
	h ^= x;
	h *= 16777619;
	return h ^ h >> 13;
}

static int compare(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return x < y ? -1 : x > y;
}

static __attribute__((noinline)) unsigned hash(const unsigned *v, size_t n)
{
	unsigned h = 1;

	for (size_t i = 0; i < n; i++)
		h = v[i] & 1 ? mix(h, v[i]) : mix(h, ~v[i]) / (v[i] | 3);
	return h;
}

int main(void)
{
	static unsigned v[100000];
	unsigned s = 1, r = 0;

	while (clock() < 2 * CLOCKS_PER_SEC) {
		for (size_t i = 0; i < 100000; i++)
			v[i] = s = s * 1103515245 + 12345;
		for (int i = 0; i < 30; i++)
			r += hash(v, 100000);
		qsort(v, 100000, sizeof(*v), compare);
	}
	printf("%u\n", r);
	return 0;
}
END
gcc -g -O2 -o "$work/busy" "$work/busy.c" || exit 1

plain='s/ *[0-9a-f]+ (\[unknown\]|[^ ]+ \[fde\]\+0x[0-9a-f]+) / ? /; s/ *[0-9a-f]+ [^ ]+(\+0x[0-9a-f]+) / \1 /; s/[ \t]+/ /g; s/ $//; s/^ //'

# check NAME COMMAND...
check() {
    local name=$1
    shift
    if ! perf record -q -e cpu-clock:u -F 999 -o "$work/$name.data" "$@" >/dev/null 2>"$work/err"; then
        skip "perf cannot record here: $(head -n 1 "$work/err")"
        return
    fi
    run 0 "$stackreel" import -q -o "$work/$name.reel" "$work/$name.data"
    ok "$name: instructions match objdump, samples match report" python3 -B tests/cli/annotate_check.py code "$stackreel" "$work/$name.reel" "$cpu"
    has out '^[1-9][0-9]* functions, [1-9]'
    ok "$name: lines match eu-addr2line" python3 -B tests/cli/annotate_check.py lines "$stackreel" "$work/$name.reel" eu-addr2line
    # One line with one address per sample. A function may have several names, and perf has no name for functions that only have an unwind
    # entry.
    perf script --no-inline -i "$work/$name.data" -F comm,pid,tid,time,event,ip,sym,symoff,dso 2>/dev/null |
        sed -E "$plain" >"$work/theirs"
    "$stackreel" script -q --no-inline -F comm,pid,tid,time,event,ip,sym,symoff,dso "$work/$name.reel" 2>/dev/null | grep -v '^# stop' |
        awk 'NF { line = line " " $0 } !NF && line { print line; line = "" }' |
        sed -E "$plain" >"$work/ours"
    paste -d'|' "$work/theirs" "$work/ours" | awk -F'|' '$1 != $2 { if (n++ < 5) print $1 " | " $2 } END { exit n > NR / 50 || NR < 100 }' >"$work/err"
    count $? "$name: fields match perf script: $(wc -l <"$work/theirs") and $(wc -l <"$work/ours") lines"
}

check busy "$work/busy"
ok "samples per instruction match perf annotate" \
    python3 -B tests/cli/annotate_check.py perf "$stackreel" "$work/busy.reel" "$work/busy.data"
has out '^[1-9][0-9]* instructions$'
line=$(grep -n 'h = v\[i\]' "$work/busy.c" | cut -d: -f1)
run 0 "$stackreel" annotate hash "$work/busy.reel"
has out "mix \\(inlined at busy\\.c:$line\\):\$" "busy\\.c:$line .*h = v\\[i\\] & 1"
run 0 "$stackreel" annotate --source hash "$work/busy.reel"
has out "^ .* $line  +h = v\\[i\\] & 1"

# Of a long function, only what is near samples, unless all is wanted.
cat >"$work/long.c" <<'END'
#include <time.h>

int main(void)
{
	volatile unsigned n = 0;

	while (clock() < CLOCKS_PER_SEC / 2) {
		for (int i = 0; i < 1000000; i++)
			n += i;
		if (n == 12345)
			__asm__ volatile(".rept 2000\n\tnop\n\t.endr");
	}
	return 0;
}
END
gcc -O1 -o "$work/long" "$work/long.c" && perf record -q -e cpu-clock:u -F 999 -o "$work/long.data" "$work/long" >/dev/null 2>"$work/err" &&
    "$stackreel" import -q -o "$work/long.reel" "$work/long.data"
count $? "record a long function"
run 0 "$stackreel" annotate main "$work/long.reel"
folded=$(sed -nE 's/.* \.\.\. (1,9[0-9]{2}) instructions without samples \(see --all\)$/\1/p' "$work/out" | tr -d ,)
shown=$(grep -cE '^ *([0-9.]+ %)? +[0-9a-f]+: ' "$work/out")
run 0 "$stackreel" annotate --all main "$work/long.reel"
[ "$(grep -cE '^ *([0-9.]+ %)? +[0-9a-f]+: ' "$work/out")" = $((shown + ${folded:-0})) ] && [ "${folded:-0}" -gt 1900 ]
count $? "$folded instructions are folded, $shown shown"
# shellcheck disable=SC2016 # it is perl's
check perl perl -e 'my %h; while ((times)[0] < 2) { for (1..100000) { $h{$_ % 977} .= chr($_ % 256) if $_ =~ /7/ } }'
finish
