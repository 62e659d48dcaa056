#!/bin/bash
# --shard: the parts of a capture, or of a list of captures, contain each sample exactly once. aggregate: byte-identical profiles regardless
# of the order, the number of steps and the number of workers, with the numbers of the merged captures, and those that awk adds up.
#
#   O=DIR   the object directory (build)
# run.sh: makes
. "$(dirname "$0")/../count.sh"
O=$(realpath "${O:-build}")
export stackreel=$O/stackreel
[ -x "$stackreel" ] || { skip "$stackreel is not built"; finish; }
make -s "$O/bench/repeat" || exit 1
export LC_ALL=C.UTF-8 from="-q --no-host-files --symfs testdata/i386/orders -j 1"
orders=testdata/i386/orders/orders.reel

# ---- one capture -----------------------------------------------------------------------------

# Captures with one block, some, and many blocks; a damaged one; and one that only contains traces.
"$O/bench/repeat" 2 $orders "$work/many.reel" 300000 || exit 1
cp "$work/many.reel" "$work/damaged.reel"
size=$(stat -c %s "$work/many.reel")
for at in 3 5; do printf 'damage' | dd of="$work/damaged.reel" bs=1 seek=$((size * at / 8)) conv=notrunc status=none; done
run 0 "$stackreel" resolve -q --no-host-files --symfs testdata/i386/orders -o "$work/resolved.reel" $orders
samples() { "$stackreel" export --format=ndjson $from "$@" 2>"$work/err"; }

# parts CAPTURE NS [OPTION...]: for each number in NS, the parts together have the samples of the whole; writes the number of non-empty
# parts to $work/used.
parts() {
    local capture=$1 numbers=$2 n i used
    shift 2
    samples "$@" "$capture" | sort >"$work/whole"
    [ -s "$work/whole" ]
    count $? "$capture has samples"
    for n in $numbers; do
        : >"$work/union" && used=0
        for i in $(seq "$n"); do
            samples --shard $i/$n "$@" "$capture" >"$work/part"
            [ $? -le "${damaged:-0}" ] || count 1 "$capture: part $i/$n failed"
            [ ! -s "$work/part" ] || used=$((used + 1))
            cat "$work/part" >>"$work/union"
        done
        sort "$work/union" | cmp - "$work/whole"
        count $? "$capture $*: $n parts together equal the whole"
        echo "$used" >"$work/used"
    done
}
parts "$work/many.reel" "1 2 3 4 5 6 7"
[ "$(cat "$work/used")" = 7 ]
count $? "none of seven parts is empty with many blocks"
parts "$work/many.reel" 3 --time 2..5 --comm orders
damaged=1 parts "$work/damaged.reel" "1 4"
parts "$work/resolved.reel" "2"
parts testdata/x86_64/chains/gcc/inline.reel "1 2 7"
[ "$(cat "$work/used")" -lt 7 ]
count $? "some of seven parts are empty with few blocks"
run 0 "$stackreel" report --no-pager --min-complete 100 --comm nobody --shard 7/7 $from testdata/x86_64/chains/gcc/inline.reel
has out '^# only part 7 of 7 of the capture'
run 2 "$stackreel" diff --shard 1/2 $orders $orders

# The parts' profile equals the whole's, even for a damaged capture.
for name in many damaged; do
    run 0 "$stackreel" aggregate $from "$work/$name.reel" -o "$work/$name.profile"
    for i in 1 2 3; do "$stackreel" aggregate $from --shard $i/3 "$work/$name.reel" -o "$work/$i.part" || count 1 "part $i"; done
    run 0 "$stackreel" aggregate "$work"/{2,3,1}.part -o "$work/union.profile"
    cmp "$work/$name.profile" "$work/union.profile"
    count $? "$name: same profile from parts"
done
grep -q '^problems' "$work/damaged.profile" && ! grep -q '^problems' "$work/many.profile"
count $? "a profile lists its captures' problems"

# ---- several captures ------------------------------------------------------------------------

# JITs, images, 32-bit programs, two events, traces that end early.
files=(testdata/x86_64/jit/*.reel $orders testdata/x86_64/chains/gcc/{exception,threads,jump}.reel)
run 0 "$stackreel" aggregate $from "${files[@]}" -o "$work/all.profile"
has all.profile "^captures	${#files[@]}$" '^stop	[0-9]+	root reached$' '^function	p	\[incomplete: '
mapfile -t backwards < <(printf '%s\n' "${files[@]}" | tac)
run 0 "$stackreel" aggregate $from -o "$work/other.profile" "${backwards[@]}"
cmp "$work/all.profile" "$work/other.profile"
count $? "the order does not matter"
"$stackreel" aggregate -q "$work/all.profile" | cmp - "$work/all.profile"
count $? "aggregating a profile does not change it"

# Split by captures, in steps: ((1 2) 3); with more workers than captures; and from a list.
printf '%s\n' "${files[@]}" >"$work/list"
for n in 3 40; do
    for i in $(seq $n); do
        "$stackreel" aggregate $from --files-from "$work/list" --shard $i/$n -o "$work/part.$i" || count 1 "part $i/$n"
    done
    run 0 "$stackreel" aggregate -o "$work/some.profile" "$work"/part.{1,2}
    run 0 "$stackreel" aggregate -o "$work/some.profile" "$work/some.profile" $(seq -f "$work/part.%g" 3 $n)
    cmp "$work/all.profile" "$work/some.profile"
    count $? "$n workers make the same profile"
done

# As many parallel processes as there are CPUs, each with its part.
if command -v parallel >/dev/null; then
    run 0 parallel --will-cite "$stackreel aggregate $from --files-from $work/list --shard {}/5 -o $work/job.{}" ::: 1 2 3 4 5
    run 0 "$stackreel" aggregate "$work"/job.* -o "$work/jobs.profile"
    cmp "$work/all.profile" "$work/jobs.profile"
    count $? "GNU parallel makes the same profile"
else
    skip "GNU parallel is not installed"
fi

# ---- output ---------------------------------------------------------------------

run 0 "$stackreel" merge -q -o "$work/merged.reel" "${files[@]}"
for command in 'report --no-pager' 'report --no-pager --tree' 'report --no-pager --residency --percent-limit 0' \
    'report --no-pager --by module' 'report --no-pager --callers fib' folded 'folded --annotate --weight time'; do
    # shellcheck disable=SC2086
    "$stackreel" $command $from "$work/merged.reel" 2>&1 | grep -v '^#' >"$work/merged.out"
    # shellcheck disable=SC2086
    "$stackreel" $command -q "$work/all.profile" 2>&1 | grep -v '^#' >"$work/profile.out"
    [ -s "$work/merged.out" ] && cmp "$work/merged.out" "$work/profile.out"
    count $? "$command shows the numbers of the merged captures"
done
sums() { awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n } END { for (stack in sum) print stack, sum[stack] }' | sort; }
for file in "${files[@]}"; do "$stackreel" folded $from --event cpu-clock "$file" 2>/dev/null; done | sums >"$work/sums"
"$stackreel" folded --event cpu-clock "$work/all.profile" | sort | cmp - "$work/sums"
count $? "same totals as with awk"
for file in "$work/merged.reel" "$work/all.profile"; do
    # shellcheck disable=SC2046
    "$stackreel" report --no-pager $([ "$file" = "$work/all.profile" ] || echo "$from") "$file" | grep -oE 'complete traces: .*|lost: .*'
done | sort -u >"$work/quality"
[ "$(wc -l <"$work/quality")" = 2 ]
count $? "same completeness and losses: $(cat "$work/quality")"

# ---- errors ---------------------------------------------------------------------------

for option in '--pid 1' '--time 1..2' '--symfs /' '--shard 1/2' '--sandbox'; do
    # shellcheck disable=SC2086
    run 1 "$stackreel" report $option "$work/all.profile"
    says "${option%% *} needs a capture"
done
run 1 "$stackreel" report --by thread "$work/all.profile"
says "a profile has no lines"
run 1 "$stackreel" folded --event nothing "$work/all.profile"
says "no event .nothing."
run 1 "$stackreel" aggregate -o "$work/no" $orders "$work/../$(basename "$work")/all.profile" "$work/all.profile"
says 'the same file, which would count twice'
echo nonsense >"$work/nonsense"
run 1 "$stackreel" aggregate -o "$work/no" "$work/all.profile" "$work/nonsense"
says 'nonsense: not a stackreel capture|nonsense: .*capture'
[ ! -e "$work/no" ]
count $? "failing commands write no files"
run 0 "$stackreel" aggregate --keep-going -o "$work/kept" "$work/all.profile" "$work/nonsense" "$work/missing"
has kept '^unread	2$'
diff "$work/all.profile" <(grep -v '^unread' "$work/kept")
count $? "unread files change nothing else"
run 0 "$stackreel" report --no-pager "$work/kept"
has out '2 unreadable captures were skipped'

# wrong SED PATTERN: the profile, changed by SED, is rejected with this message.
wrong() {
    sed -E "$1" "$work/many.profile" >"$work/wrong.profile"
    run 1 "$stackreel" aggregate -o "$work/no" "$work/wrong.profile"
    says "wrong.profile: line [0-9]+: .*$2"
}
wrong '$d' 'the file was cut'
wrong '$a more' 'after the end'
wrong 's/^(stop	)[0-9]+/\11/' 'numbers of stacks and of trace ends differ'
wrong 's/^(stop	[0-9]+	).*/\1bored/' 'later version'
wrong 's/^(recorded	).*/\118446744073709551616/' 'invalid number'
wrong '/^recorded/{p;s/[0-9]+/18446744073709551615/}' 'does not fit in 64 bits'
wrong 's/^(2 [0-9]+)( .*|$)/\1 1 18446744073709551615/' '64'
wrong 's/^3 /9 /' 'invalid depth'
wrong 's/^3 [0-9]+/3 99999/' 'undefined function number'
wrong 's/^1 .*/&\x00/' 'not a line of text'
wrong 's/^(function	-	)main/\1\\q/' 'escape'
wrong 's/^event	ns/event	kg/' 'invalid event'
# The total weight of a day on many hosts may exceed 64 bits.
awk '/^[0-9]/ && NF == 4 && !done { $4 = "18000000000000000000"; done = 1 } 1' "$work/some.profile" >"$work/heavy.profile"
cp "$work/heavy.profile" "$work/heavier.profile"
run 1 "$stackreel" aggregate -o "$work/no" "$work/heav"*.profile
says 'does not fit in 64 bits'
finish
