#!/bin/bash
# Encrypted captures on the command line: keygen, import, scrub and shrink --encrypt-to, --decrypt, --identity in each command, wrong keys,
# and reading them with the independent reader.  tests/unit/format/test_encryption.c tests tampering.
#
#   O=DIR   the object directory (build)
. "$(dirname "$0")/../count.sh"
tool=$PWD/${O:-build}/stackreel
recording=testdata/x86_64/perf/dwarf.data
fixture=testdata/format/encrypted
[ -x "$tool" ] || { skip "$tool is not built"; finish; }

# works NAME COMMAND...: the command succeeds, with its output in $work/out
works() {
    local name=$1
    shift
    "$@" >"$work/out" 2>"$work/err" </dev/null
    count $? "$name: $(head -n 2 "$work/err")"
}

# fails STATUS PATTERN COMMAND...: the command fails and prints one line that matches PATTERN
fails() {
    local wanted=$1 pattern=$2 status
    shift 2
    "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    [ "$status" = "$wanted" ] && grep -qE -- "$pattern" "$work/err" && [ "$(grep -c '^stackreel: ' "$work/err")" = 1 ]
    count $? "$*: status $status, $(cat "$work/err")"
}

key=$work/a.key other=$work/b.key
works keygen "$tool" keygen "$key"
public=$(cat "$work/out")
[[ $public =~ ^reelpub1_[A-Za-z0-9_-]{48}$ ]]
count $? "keygen prints a public key: $public"
[ "$(stat -c %a "$key")" = 600 ]
count $? "the secret key is readable only by its owner"
grep -qF "$public" "$key" && ! grep -q reelsec1 "$work/out"
count $? "the key file shows the public key, standard output does not show the secret key"
works "keygen -y" "$tool" keygen -y "$key"
[ "$(cat "$work/out")" = "$public" ]
count $? "keygen -y prints it again"
fails 1 'File exists' "$tool" keygen "$key"
works "keygen for another" "$tool" keygen -o "$other"

encrypted=$work/encrypted.reel plain=$work/plain.reel
works import "$tool" import -q "$recording" -o "$plain"
works "import --encrypt-to" "$tool" import -q --encrypt-to "$public" "$recording" -o "$encrypted"
! zstd -dcq "$encrypted" 2>/dev/null | grep -aq -e /usr/bin -e cpu-clock && zstd -dcq "$plain" | grep -aq /usr/bin
count $? "paths are readable in the plain capture but not in the encrypted one"

for command in "report" "script --ns" "folded" "dump --bytes"; do
    # shellcheck disable=SC2086
    {
        fails 1 'encrypted to key [0-9a-f]{16}: use --identity FILE with the secret key' \
            "$tool" ${command/dump*/info} "$encrypted"
        fails 1 'none of your keys matches' "$tool" ${command/dump*/info} --identity "$other" "$encrypted"
        works "$command" "$tool" $command --identity "$other" --identity "$key" "$encrypted"
        mv "$work/out" "$work/encrypted.out"
        works "$command, plain" "$tool" $command "$plain"
    }
    if [ "$command" = "dump --bytes" ]; then
        # except records that contain positions in the file
        sed -i -E '/^(KEY|INDEX_ENTRY)/,/^$/d; s/block [0-9]+.*//' "$work/encrypted.out" "$work/out"
        sed -i -E '/recording|offset|KEY|INDEX|^$/d' "$work/encrypted.out" "$work/out"
        [ "$(sort "$work/encrypted.out" | wc -l)" -ge "$(sort "$work/out" | wc -l)" ]
    else
        sed -i 's/encrypted\.reel/plain.reel/' "$work/encrypted.out"
        cmp -s "$work/encrypted.out" "$work/out"
    fi
    count $? "$command prints the same"
done
fails 2 'encrypted to key' "$tool" dump "$encrypted"
# A user who passes a key expects a file that only the key owner's recorders can have made.
for command in report script folded info dump; do
    fails 1 'plain\.reel: not encrypted.*--identity' "$tool" $command --identity "$key" "$plain"
    [ ! -s "$work/out" ]
    count $? "$command: shows nothing of the plain file"
done
fails 1 'standard input: not encrypted' bash -c "'$tool' report --identity '$key' - <'$plain'"
# Without the key, info shows the recipient, the size, and that the contents are not checked.
id=$("$tool" dump --json --identity "$key" "$encrypted" | sed -n 's/.*"record": "KEY".*"key": "\([0-9a-f]*\)".*/\1/p;q')
for file in "$encrypted" -; do
    fails 1 'encrypted to key' bash -c "'$tool' info '$file' <'$encrypted'"
    grep -q "^encrypted to  *$id$" "$work/out" && grep -q '^file size .* in [0-9]* blocks$' "$work/out" && grep -q '^not verified ' "$work/out"
    count $? "info $file: $(cat "$work/out")"
    [ -n "$id" ] && ! grep -qE '^(host|kernel|samples|Problems)' "$work/out"
    count $? "info $file shows nothing else"
done
head -c -40 "$encrypted" >"$work/cut.reel"
fails 1 'encrypted to key' "$tool" info "$work/cut.reel"
grep -q 'the file ends after' "$work/out"
count $? "info reports the truncation, which shows without the key: $(cat "$work/out")"
works "folded from a pipe" bash -c "'$tool' folded --identity '$key' - < <(cat '$encrypted')"

# Both readers.
for case in "$encrypted $key" "$fixture.reel $fixture.key"; do
    read -r file identity <<<"$case"
    works "dump --json $file" "$tool" dump --json --identity "$identity" "$file"
    mv "$work/out" "$work/c"
    works "reel_reader.py $file" tests/reader/reel_reader.py --identity "$identity" "$file"
    cmp -s "$work/out" "$work/c" && [ -s "$work/c" ]
    count $? "the two readers agree on $file"
    works "reel_reader.py --no-index $file" tests/reader/reel_reader.py --no-index --identity "$identity" "$file"
    cmp -s "$work/out" "$work/c"
    count $? "... and without its index"
done

# A capture made from an encrypted one is encrypted unless --decrypt is given. Its recipient may be somebody else.
theirs=$("$tool" keygen -y "$other")
for command in scrub shrink cut; do
    new=$work/made-by-$command.reel
    fails 2 ': encrypted, but the new capture would not be; .*--encrypt-to PUBLIC_KEY.*--decrypt' \
        "$tool" $command --identity "$key" -o "$new" "$encrypted"
    [ ! -e "$new" ]
    count $? "$command: writes no file"
    "$tool" $command --decrypt --encrypt-to "$theirs" --identity "$key" -o "$new" "$encrypted" 2>"$work/err"
    [ $? = 2 ] && grep -q 'exclude each other' "$work/err"
    count $? "$command --decrypt --encrypt-to: $(cat "$work/err")"
    works "$command of a plain one" "$tool" $command -q -o "$new" "$plain"
    works "$command, its traces" "$tool" script --ns "$new"
    mv "$work/out" "$work/wanted"
    works "$command --decrypt" "$tool" $command -q --decrypt --identity "$key" -o "$new" "$encrypted"
    works "$command --decrypt: read without a key" "$tool" script --ns "$new"
    cmp -s "$work/wanted" "$work/out"
    count $? "$command --decrypt: same traces"
    for output in "$new" -; do
        TMPDIR=$work works "$command --encrypt-to -o $output" "$tool" $command -q --encrypt-to "$theirs" --identity "$key" -o "$output" "$encrypted"
        [ "$output" = "$new" ] || mv "$work/out" "$new"
        fails 1 'encrypted to key' "$tool" report --identity "$key" "$new"
        works "$command --encrypt-to: read with the other key" "$tool" script --ns --identity "$other" "$new"
        cmp -s "$work/wanted" "$work/out"
        count $? "$command --encrypt-to -o $output: same traces"
    done
    ! zstd -dcq "$new" 2>/dev/null | grep -aq -e /usr/bin -e cpu-clock
    count $? "$command --encrypt-to: paths are not readable"
    works "$command --encrypt-to of a plain one" "$tool" $command -q --encrypt-to "$theirs" -o "$new" "$plain"
    fails 1 'encrypted to key' "$tool" report "$new"
done

# Removing a block or the end of the file is detected by each command, and reported even with -q.
size=$(stat -c %s "$encrypted")
python3 -B - "$encrypted" "$work/gone.reel" <<'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
# skip the third block
at = 48
for _ in range(2):
    at += 80 + struct.unpack_from("<I", data, at + 24)[0]
open(sys.argv[2], "wb").write(data[:at] + data[at + 80 + struct.unpack_from("<I", data, at + 24)[0]:])
END
for command in report script folded info; do
    for changed in cut gone; do
        fails 1 'is damaged or was tampered with' "$tool" $command -q --identity "$key" "$work/$changed.reel"
    done
done
[ "$(stat -c %s "$work/gone.reel")" -lt "$size" ]
count $? "a block was removed"
# Copies of an incomplete capture are incomplete as well.
"$tool" scrub -q --decrypt --identity "$key" -o "$work/lacks.reel" "$work/gone.reel" 2>"$work/err"
"$tool" report "$work/lacks.reel" >"$work/out"
grep -q '# problem: .*END counts: ' "$work/out"
count $? "the copy reports the missing data: $(grep problem "$work/out")"

# Usage errors.
fails 2 'a secret key' "$tool" import --encrypt-to "$key" "$recording" -o "$work/x.reel"
fails 2 'missing or wrong' "$tool" import --encrypt-to "${public%?}" "$recording" -o "$work/x.reel"
fails 1 'No such file' "$tool" report --identity "$work/none" "$encrypted"
fails 1 'invalid secret key' "$tool" report --identity README.md "$encrypted"
[ ! -e "$work/x.reel" ]
count $? "writes no file"
finish
