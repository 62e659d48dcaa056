#!/bin/bash
# A file without a build-id, such as Go and musl-gcc produce, is identified by the digest of its loaded contents. A different file at its
# path, with its inode or its size, gives no names, and a message says so; a copy, stripped or not, does. tests/names/file_digest.py
# computes the digest as specified in SPEC.md.
# shellcheck disable=SC2181
. "$(dirname "$0")/../count.sh"
digest=$PWD/tests/names/file_digest.py

[ -x "$recorder" ] || { skip "$recorder is not built"; finish; }
[ "$(id -u)" = 0 ] || { skip "recording needs root"; finish; }

# build NAME FUNCTION OPTION...: a program that spends its time in FUNCTION; programs with different functions differ by one number in the
# code.
build() {
    local name=$1 function=$2 loops=1000
    shift 2
    [ "$function" = right_one ] || loops=1001
    "${CC:-cc}" -O1 -g -Wl,--build-id=none "$@" -o "$work/$name" -x c - <<END
#include <stdlib.h>
#include <time.h>
static volatile long n;
__attribute__((noinline)) void $function(long x) { for (int i = 0; i < $loops; i++) n += x * i; }
int main(int argc, char **argv)
{
	clock_t end = clock() + (clock_t)(atof(argv[1]) * CLOCKS_PER_SEC);

	while (clock() < end)
		$function(argc);
	return 0;
}
END
}

# names CAPTURE: the samples have the program's names.
names() {
    "$stackreel" report "$@" >"$work/out" 2>"$work/err" && grep -qE 'right_one +program( \(deleted\))?$' "$work/out"
}

# refuses CAPTURE: the samples have no names, and a message says why.
refuses() {
    "$stackreel" report "$@" >"$work/out" 2>"$work/err"
    ! grep -qE '(right_one|wrong_one)' "$work/out" && "$stackreel" info "$@" | grep -q 'is not the recorded file'
}

recorded_digest() {
    "$stackreel" dump "$1" | sed -n 's/.* MODULE .*file_digest=\([0-9a-f]*\) .*path.*//; s/.* MODULE .*path="[^"]*'"$2"'".*file_digest=\([0-9a-f]*\).*/\1/p'
}

for kind in "" -static; do
    build program right_one $kind || { skip "cannot build${kind:+ $kind} programs here"; continue; }
    build other wrong_one $kind
    "$recorder" -q --embed=none -o "$work/a.reel" -- "$work/program" 0.3 2>"$work/err"
    count $? "recorded${kind:+ $kind}"
    cp "$work/program" "$work/kept"
    [ "$(recorded_digest "$work/a.reel" program)" = "$(python3 -B "$digest" "$work/kept")" ]
    count $? "the digest is as specified in SPEC.md"
    ok "the file itself" names "$work/a.reel"
    grep -q 'could not be checked' "$work/out"
    [ $? = 1 ]
    count $? "no module is unchecked"
    # Different files with the same inode, and with the same size.
    cat "$work/other" >"$work/program"
    ok "a different file with the same inode" refuses "$work/a.reel"
    truncate -s "$(stat -c %s "$work/kept")" "$work/program"
    touch -r "$work/kept" "$work/program"
    ok "a different file with the same inode, size and time" refuses "$work/a.reel"
    mkdir -p "$work/root$work"
    cp "$work/other" "$work/root$work/program"
    ok "a different file given by --symfs" refuses --no-host-files --symfs "$work/root" "$work/a.reel"
    cp "$work/other" "$work/named"
    mkdir -p "$work/module"
    cp "$work/other" "$work/module/program"
    ok "a different file given by --module" refuses --no-host-files --module "$work/module/program" "$work/a.reel"
    rm "$work/program"
    cp "$work/kept" "$work/program"
    ok "a copy with a different inode and time" names "$work/a.reel"
    cp "$work/kept" "$work/root$work/program"
    ok "a copy at a different path" names --no-host-files --symfs "$work/root" "$work/a.reel"

    # The recorded file is stripped and its copy is not, and the reverse.
    strip -o "$work/program.new" "$work/kept" && mv "$work/program.new" "$work/program"
    "$recorder" -q --embed=none -o "$work/stripped.reel" -- "$work/program" 0.3 2>"$work/err"
    count $? "recorded, stripped"
    cp "$work/kept" "$work/program"
    ok "the file before stripping" names "$work/stripped.reel"
    strip -o "$work/program.new" "$work/kept" && mv "$work/program.new" "$work/program"
    "$stackreel" report "$work/a.reel" >"$work/out" 2>"$work/err"
    ! "$stackreel" info "$work/a.reel" | grep -q 'is not the recorded file'
    count $? "a stripped copy is accepted"
    # A file without code is not.
    objcopy --only-keep-debug "$work/kept" "$work/program.new" && mv "$work/program.new" "$work/program"
    "$stackreel" info "$work/a.reel" | grep -q 'is a debug file without code'
    count $? "a file with only debug information is not accepted"
    cp "$work/kept" "$work/program"
done
[ "$passed" -gt 0 ] || finish

# The digest is of the mapped file, not of the file now at its path.
build program right_one && build other wrong_one || finish
cp "$work/program" "$work/kept"
"$work/program" 600 &
pid=$!
until [ "$(readlink /proc/$pid/exe)" = "$work/program" ]; do sleep 0.05; done
mv "$work/other" "$work/program"
"$recorder" -q --embed=none -o "$work/moved.reel" -p $pid -- tests/support/until_cpu.sh $pid 0.3 2>"$work/err"
count $? "record a program that is replaced meanwhile"
kill $pid
wait $pid 2>"$work/out"
[ "$(recorded_digest "$work/moved.reel" 'program (deleted)')" = "$(python3 -B "$digest" "$work/kept")" ]
count $? "the digest is of the mapped file"
ok "the new file gives no names" refuses "$work/moved.reel"
cp "$work/kept" "$work/program"
ok "the old file gives names" names "$work/moved.reel"

# Files with a build-id need no digest.
build program right_one -Wl,--build-id=sha1
"$recorder" -q --embed=none -o "$work/b.reel" -- "$work/program" 0.2 2>"$work/err"
[ -z "$(recorded_digest "$work/b.reel" program)" ]
count $? "no digest of a file with a build-id"

# Captures by older recorders or other programs have no digest: files for their modules are not checked, and a message says so.
python3 -B - "$work" "$work/kept" <<'END'
import os, sys
sys.path[:0] = ["tests", "tests/reader"]
import reel_builder as b
from reel_cases import end_record, started
work, path = sys.argv[1:]
s = os.stat(path)
samples = b.Samples()
samples.layout(0, [(7, 8), (16, 8)])
side = [b.record("MODULE", 1, 1, os.major(s.st_dev), os.minor(s.st_dev), s.st_ino, 0, b"", path),
        b.record("SPACE", 1000, 1, 0, 0, 101, 0, 62, 64, 1, 0, 0, 0),
        b.record("THREAD", 1000, 1, 1, 0, 101, 0, 0, "old"), b.record("MAP", 1000, 1, 0x10000, 0x10000, 0, 5, 2, 1)]
samples.sample(1, 2000, thread=1, pc=0x11000, layout=0, values=[0x7000, 0x11000], regions=[b.Region(0x7000, bytes(64))])
reel = started().side(*side).samples(samples).side(end_record()).index().trailer()
open(work + "/old.reel", "wb").write(reel.data)
END
ok "read an older capture" "$stackreel" report "$work/old.reel"
grep -q '^# 1 module could not be verified' "$work/out"
count $? "... and report unchecked modules"
"$stackreel" info "$work/old.reel" | grep -q 'not verified: neither a build-id nor a digest'
count $? "info lists the unchecked modules"
finish
