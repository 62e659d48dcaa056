#!/bin/bash
# bench/gate: no command takes more instructions or memory than in its table, and other tables have the results that they should have.
# run.sh: thorough shares
# checks: cli replay/api replay/import replay/rewrite bench/gate bench/gate.tsv bench/synthesize.c
. "$(dirname "$0")/../count.sh"

command -v valgrind >/dev/null || { skip "valgrind is missing" && finish; }
names=() index=0
while read -r name; do
    ! selected $((index++)) || names+=("$name")
done < <(bench/gate --list)
if [ ${#names[@]} -gt 0 ]; then
    bench/gate --check "${names[@]}" >"$work/out" 2>&1
    grep -v '^[0-9]* passed' "$work/out"
    read -r p _ f _ s _ < <(tail -n 1 "$work/out")
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
fi

# gate STATUS SED [OPTION]...: compares a short command with a table that SED has changed
name="import x86_64/perf/dwarf.data" table=$work/table.tsv
gate() {
    sed "$2" "$work/true.tsv" >"$table"
    cp "$table" "$work/before.tsv"
    run "$1" bench/gate --table "$table" "${@:3}" "$name"
}
selected 0 || finish
run 0 bench/gate --table "$work/true.tsv" --update "$name"
count=$(tail -n 1 "$work/true.tsv" | cut -f2)
gate 0 "" && ok "no change" cmp -s "$table" "$work/before.tsv"
gate 1 "s/$count/$((count * 97 / 100))/"; has out "^FAILED: $name: " && ok "slower" cmp -s "$table" "$work/before.tsv"
gate 1 's/\t[0-9]*$/\t4000/'; has out "^FAILED: $name: "
gate 0 "s/$count/$((count * 103 / 100))/" --check && ok "faster, --check" cmp -s "$table" "$work/before.tsv"
gate 0 "s/$count/$((count * 103 / 100))/" && ok "faster: updated" test "$(tail -n 1 "$table" | cut -f2)" -lt $((count * 102 / 100))
gate 1 "/^import/d"; has out 'is in the table'
gate 0 '1s/glibc/musl/' && has out '^skip: table.tsv has the counts of other versions:$'
gate 0 '1s/glibc/musl/;$s/^import/info/' --update && ok "no rows of other versions" test "$(wc -l <"$table")" = 3
finish
