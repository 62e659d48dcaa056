#!/bin/bash
# Programs whose only unwind information is .sframe, of versions 2 and 3 (testdata/sframe): whole traces by it, from the file and from the image
# in the capture. And rows of what this machine's assembler writes, if it writes a version that is read.
. "$(dirname "$0")/../count.sh"
. tests/record/recording.sh
unit=${recorder%/*}/tests/unit/cfi/test_sframe

# The bytes of a file's .sframe.
version() {
    objcopy -O binary --only-section=.sframe "$1" section 2>err && od -An -tu1 -j2 -N1 section | tr -d ' '
}
printf '#include <alloca.h>\nlong f(long);long g(long n){return f((long)alloca(n))+n;}' >g.c
if gcc -O2 -fPIC -shared -nostdlib -Wa,--gsframe -o g.so g.c 2>err; then
    found=$(version g.so)
    if [ "$found" = 2 ] || [ "$found" = 3 ]; then
        "$unit" g.so >found 2>&1
        count $? "as --gsframe: $(cat found)"
    else
        skip "as --gsframe writes version ${found:-?}"
    fi
else
    skip "as has no --gsframe: $(head -n 1 err)"
fi

[ "$(uname -m)" = x86_64 ] || { skip "programs of x86-64"; finish; }
needs_to_record
# whole NAME ARGUMENT...: all traces are complete and by unwind information, and have the program's chains.
whole() {
    local name=$1
    shift
    "$stackreel" folded "$@" >found 2>err && "$stackreel" report "$@" >report 2>>err && grep -q '^# complete traces: 100.00 %' report && ! grep -q 'without unwind information' report &&
        grep -qE '^_start;begin;recursive;recursive;recursive;recursive;fixed;variable;leaf [0-9]+$' found && ! grep -vE '^_start(;begin(;recursive){0,4}(;fixed(;variable(;leaf)?)?)?)? [0-9]+$' found
    count $? "$name: $(head -n 5 err report) $(head -n 3 found)"
}
for version in 2 3; do
    cp "$tests/../testdata/sframe/x86_64-v$version" program
    record -q -F 499 -o a.reel -- ./program
    count $? "records: $(head -n 3 err)"
    whole "version $version" a.reel
    "$stackreel" pack -q -o packed.reel a.reel
    rm program
    whole "... by the recorder's image" a.reel
    whole "... by pack's image" packed.reel
    # Without section headers, by its segment.
    objcopy --remove-section .sframe "$tests/../testdata/sframe/x86_64-v$version" program
    record -q -F 499 --no-embed -o a.reel -- ./program
    whole "... by PT_GNU_SFRAME" a.reel
    head -c 64 /dev/zero >zeros
    objcopy --update-section .sframe=zeros "$tests/../testdata/sframe/x86_64-v$version" program
    record -q -F 499 -o without.reel -- ./program
    "$stackreel" folded without.reel >found 2>err && ! grep -q 'begin;recursive;.*leaf' found
    count $? "... and nothing else describes its frames: $(head -n 5 err found)"
done
finish
