#!/bin/bash
# Merging: captures of testdata as one: the traces and names of each, in whatever order they are given, and a hundred in hardly more memory than ten.
#
#   tests/test-merge.sh     O=DIR   the object directory (build)
#
# run.sh: makes
set -u
cd "$(dirname "$0")/.." || exit
O=${O:-build}
stackreel=$O/stackreel
. tests/count.sh
make -s "$O/bench/measure" || exit 1
[ -x "$stackreel" ] || { skip "$stackreel is not built"; finish; }
work=$(mktemp -d "${TMPDIR:-/var/tmp}/stackreel-merge.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

# traces FILE...: of all samples, but for times, names and what is said besides.
traces() {
    for file; do "$stackreel" script -q --no-host-files --symfs testdata/i386/orders "$file" 2>&1; done | grep $'^\t' | sort
}

# counts FILE...: a sum for each stack.
counts() {
    for file; do "$stackreel" folded -q --no-host-files --symfs testdata/i386/orders "$file" 2>/dev/null; done |
        awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n } END { for (stack in sum) print stack, sum[stack] }' | sort
}

# JITs, images from the recorder, 32-bit programs, events of other rates.
files=(testdata/x86_64/jit/*.reel testdata/i386/orders/orders.reel testdata/x86_64/chains/gcc/{exception,threads}.reel)
run 0 "$stackreel" merge -o "$work/all.reel" "${files[@]}"
says "${#files[@]} captures of 2 hosts, [0-9]+ modules"
cmp <(traces "${files[@]}") <(traces "$work/all.reel")
count $? "merged, they have other traces"
cmp <(counts "${files[@]}") <(counts "$work/all.reel")
count $? "merged, they have other counts"
run 0 "$stackreel" info -q --no-host-files "$work/all.reel"
has out '^Merged of captures of 2 hosts$' '^ +3  \(none\), from 20' '^ +6  vm, from 20.*, kernel '
! grep -q '^Problems' "$work/out"
count $? "a merged capture has problems"

# ---- in whatever order ------------------------------------------------------------------

half=$((${#files[@]} / 2))
run 0 "$stackreel" merge -q -o "$work/a.reel" "${files[@]:0:half}"
run 0 "$stackreel" merge -q -o "$work/b.reel" "${files[@]:half}"
run 0 "$stackreel" merge -q -o "$work/other.reel" "$work/b.reel" "$work/a.reel"
mapfile -t backwards < <(printf '%s\n' "${files[@]}" | tac)
run 0 "$stackreel" merge -q -o "$work/back.reel" "${backwards[@]}"
for arguments in 'report --no-pager' 'report --no-pager --tree --by comm' 'report --no-pager --by host' 'report --no-pager --callers fib' folded; do
    for name in all other back; do
        # shellcheck disable=SC2086
        "$stackreel" $arguments --no-host-files --no-sandbox - <"$work/$name.reel" >"$work/$name.out" 2>&1
    done
    cmp "$work/all.out" "$work/other.out" && cmp "$work/all.out" "$work/back.out" && [ -s "$work/all.out" ]
    count $? "$arguments hangs on the order"
done
# And what is made of it.
run 0 "$stackreel" cut -q --comm vm:python3.14 -o "$work/part.reel" "$work/all.reel"
cmp <(traces testdata/x86_64/jit/python3.14*.reel) <(traces "$work/part.reel")
count $? "a part of a merged capture has other traces"
for command in pack resolve shrink scrub; do
    case $command in scrub) options=() ;; *) options=(--no-host-files) ;; esac
    run 0 "$stackreel" $command -q "${options[@]}" -o "$work/made.reel" "$work/all.reel"
    cmp <("$stackreel" report --no-pager --no-host-files --no-sandbox --by host - <"$work/all.reel" 2>&1 | grep -v '^#') \
        <("$stackreel" report --no-pager --no-host-files --no-sandbox --by host - <"$work/made.reel" 2>&1 | grep -v '^#')
    count $? "$command of a merged capture has other hosts"
done

# ---- encrypted --------------------------------------------------------------------------

"$stackreel" keygen -q -o "$work/key" >"$work/public" 2>"$work/err" || "$stackreel" keygen "$work/key" >"$work/public"
run 0 "$stackreel" cut -q --encrypt-to "$work/public" -o "$work/secret.reel" "${files[0]}"
run 1 "$stackreel" merge -o "$work/open.reel" "${files[1]}" "$work/secret.reel"
says 'encrypted to key'
run 0 "$stackreel" cut -q --encrypt-to "$work/public" -o "$work/secret2.reel" "${files[1]}"
run 2 "$stackreel" merge --identity "$work/key" -o "$work/open.reel" "$work/secret2.reel" "$work/secret.reel"
says ': encrypted, but the new capture would not be'
run 2 "$stackreel" merge --identity "$work/key" --decrypt -o "$work/open.reel" "$work/secret.reel" "${files[1]}"
says 'not encrypted, so it may come from anyone'
[ ! -e "$work/open.reel" ]
count $? "it is there nevertheless"
run 0 "$stackreel" merge -q --identity "$work/key" --decrypt -o "$work/open.reel" "$work/secret2.reel" "$work/secret.reel"
cmp <(traces "${files[@]:0:2}") <(traces "$work/open.reel")
count $? "encrypted ones, merged, have other traces"
run 0 "$stackreel" merge -q --identity "$work/key" --encrypt-to "$work/public" -o "$work/both.reel" "$work/secret2.reel" "$work/secret.reel"
run 1 "$stackreel" script -q "$work/both.reel"
cmp <("$stackreel" script -q --no-host-files "$work/open.reel") <("$stackreel" script -q --no-host-files --identity "$work/key" "$work/both.reel")
count $? "encrypted again, they have other traces"

# ---- many -------------------------------------------------------------------------------

for i in {1..80}; do
    "$stackreel" cut -q -o "$work/copy$i.reel" "${files[i % ${#files[@]}]}" || count 1 "copy $i"
done

# peak COMMAND...: KB
peak() {
    "$O/bench/measure" "$work/taken" "$@" >"$work/out" 2>"$work/err" && cut -d' ' -f4 "$work/taken"
}

few=$(peak "$stackreel" merge -q -o "$work/few.reel" "$work"/copy[1-9].reel)
many=$(peak "$stackreel" merge -q -o "$work/many.reel" "$work"/copy*.reel)
[ -n "$few" ] && [ -n "$many" ] && [ $((2 * many)) -le $((3 * few)) ]
count $? "${few:-no} KB for 9 captures, ${many:-no} KB for 80: $(head -n 1 "$work/err")"
run 0 "$stackreel" info -q --no-host-files "$work/many.reel"
has out '^Merged of captures of 2 hosts$'

finish
