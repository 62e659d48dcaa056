#!/bin/bash
# packaging/magic: file(1) recognizes captures, their version, encryption and media type, with these rules alone and together with its own.
#
#   tests/packaging/test-magic.sh
. "$(dirname "$0")/../count.sh"
command -v file >/dev/null || { skip "file is not installed"; finish; }

# told RULES FILE TEXT: file(1) describes FILE as TEXT
told() {
    run 0 file -b -m "$1" "$2"
    [ "$(cat "$work/out")" = "$3" ]
    count $? "$2, by $1: $(cat "$work/out")"
}

# Without a compiled rules file, the second part of -m would be missing as well.
rules=(packaging/magic)
for file in /usr/share/misc/magic.mgc /usr/share/file/magic.mgc /usr/lib/file/magic.mgc; do
    [ ! -e "$file" ] || { rules+=("packaging/magic:$file"); break; }
done
head -c 60 testdata/format/good-one-sample.reel >"$work/cut.reel"
for rule in "${rules[@]}"; do
    told "$rule" testdata/format/good-one-sample.reel "stackreel capture, format 1.0"
    told "$rule" testdata/format/encrypted.reel "stackreel capture, format 1.0, encrypted"
    told "$rule" testdata/format/unsupported-minor.reel "stackreel capture, format 0.2"
    told "$rule" "$work/cut.reel" "stackreel capture, format 1.0"
    for file in testdata/golden/*.reel; do
        run 0 file -b --mime-type -m "$rule" "$file"
        grep -qx 'application/vnd.stackreel.capture' "$work/out"
        count $? "$file: $(cat "$work/out")"
    done
    run 0 file -b --extension -m "$rule" testdata/format/good-one-sample.reel
    grep -qx reel "$work/out"
    count $? "the file extension: $(cat "$work/out")"
    # A capture damaged by a text-mode transfer, and other zstd files, are not recognized.
    printf 'text' | zstd -cq >"$work/text.zst" 2>/dev/null
    for file in testdata/format/not-a-capture-*.reel "$work/text.zst" README.md; do
        run 0 file -b -m "$rule" "$file"
        ! grep -q stackreel "$work/out"
        count $? "$file: $(cat "$work/out")"
    done
done

# SPEC.md states the same type.
grep -q 'application/vnd.stackreel.capture' SPEC.md
count $? "SPEC.md states the media type"

finish
