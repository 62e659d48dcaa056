#!/bin/bash
# Merging captures of testdata: the result has the traces and names of each, in whatever order they are given; and merging a hundred
# captures needs hardly more memory than merging ten.
#
#   tests/rewrite/test-merge.sh     O=DIR   the object directory (build)
#
# run.sh: makes thorough
# checks: =replay/rewrite =replay/capture format/timeline
. "$(dirname "$0")/../count.sh"
make -s "$O/bench/measure" || exit 1
[ -x "$stackreel" ] || { skip "$stackreel is not built"; finish; }

# traces FILE...: of all samples, without times, thread names and other lines.
traces() {
    for file; do "$stackreel" script -q --no-host-files --symfs testdata/i386/orders "$file" 2>&1; done | grep $'^\t' | sort
}

# counts FILE...: the total for each stack.
counts() {
    for file; do "$stackreel" folded -q --no-host-files --symfs testdata/i386/orders "$file" 2>/dev/null; done |
        awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n } END { for (stack in sum) print stack, sum[stack] }' | sort
}

# JITs, images by the recorder, 32-bit programs, events with different rates.
files=(testdata/x86_64/jit/*.reel testdata/i386/orders/orders.reel testdata/x86_64/chains/gcc/{exception,threads}.reel)
run 0 "$stackreel" merge -o "$work/all.reel" "${files[@]}"
says "${#files[@]} captures of 2 hosts, [0-9]+ modules"
cmp <(traces "${files[@]}") <(traces "$work/all.reel")
count $? "merging keeps the traces"
cmp <(counts "${files[@]}") <(counts "$work/all.reel")
count $? "merging keeps the counts"
run 0 "$stackreel" info -q --no-host-files "$work/all.reel"
has out '^Captures merged from 2 hosts$' '^ +3  \(none\), from 20' '^ +6  vm, from 20.*, kernel '
! grep -q '^Problems' "$work/out"
count $? "a merged capture has no problems"

# ---- order of the arguments ------------------------------------------------------------------

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
    count $? "$arguments does not depend on the order"
done
# Captures made from a merged capture.
run 0 "$stackreel" cut -q --comm vm:python3.14 -o "$work/part.reel" "$work/all.reel"
cmp <(traces testdata/x86_64/jit/python3.14*.reel) <(traces "$work/part.reel")
count $? "cutting a merged capture keeps the traces"
for command in pack resolve shrink scrub; do
    case $command in scrub) options=() ;; *) options=(--no-host-files) ;; esac
    run 0 "$stackreel" $command -q "${options[@]}" -o "$work/made.reel" "$work/all.reel"
    cmp <("$stackreel" report --no-pager --no-host-files --no-sandbox --by host - <"$work/all.reel" 2>&1 | grep -v '^#') \
        <("$stackreel" report --no-pager --no-host-files --no-sandbox --by host - <"$work/made.reel" 2>&1 | grep -v '^#')
    count $? "$command of a merged capture keeps the hosts"
done

# ---- encrypted captures --------------------------------------------------------------------------

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
count $? "writes no file"
run 0 "$stackreel" merge -q --identity "$work/key" --decrypt -o "$work/open.reel" "$work/secret2.reel" "$work/secret.reel"
cmp <(traces "${files[@]:0:2}") <(traces "$work/open.reel")
count $? "merging encrypted captures keeps the traces"
run 0 "$stackreel" merge -q --identity "$work/key" --encrypt-to "$work/public" -o "$work/both.reel" "$work/secret2.reel" "$work/secret.reel"
run 1 "$stackreel" script -q "$work/both.reel"
cmp <("$stackreel" script -q --no-host-files "$work/open.reel") <("$stackreel" script -q --no-host-files --identity "$work/key" "$work/both.reel")
count $? "encrypting again keeps the traces"

# ---- many captures -------------------------------------------------------------------------------

for i in {1..80}; do
    "$stackreel" cut -q -o "$work/copy$i.reel" "${files[i % ${#files[@]}]}" || count 1 "copy $i"
done

# peak COMMAND...: peak memory in KB
peak() {
    "$O/bench/measure" "$work/taken" "$@" >"$work/out" 2>"$work/err" && cut -d' ' -f4 "$work/taken"
}

few=$(peak "$stackreel" merge -q -o "$work/few.reel" "$work"/copy[1-9].reel)
many=$(peak "$stackreel" merge -q -o "$work/many.reel" "$work"/copy*.reel)
[ -n "$few" ] && [ -n "$many" ] && [ $((2 * many)) -le $((3 * few)) ]
count $? "${few:-no} KB for 9 captures, ${many:-no} KB for 80: $(head -n 1 "$work/err")"
run 0 "$stackreel" info -q --no-host-files "$work/many.reel"
has out '^Captures merged from 2 hosts$'

finish
