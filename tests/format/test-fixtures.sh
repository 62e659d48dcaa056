#!/bin/bash
# The captures and the table in testdata/format are byte-identical to their generator's output. Skipped with a libzstd other than the one
# they were made with, which may compress differently.
# checks: format/codec format
. "$(dirname "$0")/../count.sh"
data=testdata/format

version=$(${PKG_CONFIG:-pkg-config} --modversion libzstd)
if [ "$version" != 1.5.4 ]; then
    skip "libzstd is $version, needs 1.5.4"
    finish
fi
run 0 "$O/tests/fixtures/format_fixtures" "$work"
mv "$work/out" "$work/table"
ok "the table in $data/README.md" diff "$work/table" <(grep '^|' $data/README.md)
for file in $data/*.reel; do
    ok "$file" cmp "$file" "$work/${file##*/}"
done
finish
