#!/bin/bash
# Installs into a folder, builds the programs of docs/library.md against the installed files by pkg-config, and runs them: the stacks that they
# unwind and write begin in main and end in _start (by addr2line).
# run.sh: makes
. "$(dirname "$0")/../count.sh"

export PKG_CONFIG_PATH=$work/root/lib/pkgconfig LD_LIBRARY_PATH=$work/root/lib
ok "make install" make -s O="$O" PREFIX="$work/root" install
for file in bin/stackreel include/stackreel.h lib/libstackreel.so lib/libstackreel.so.1 lib/libstackreel.a share/man/man1/stackreel.1 share/doc/stackreel/diff.schema.json share/doc/stackreel/NEWS.md share/doc/stackreel/SPEC.md; do
    ok "installs $file" test -e "$work/root/$file"
done
# The contents of the ```c blocks.
awk -v work="$work" '/^```c$/ { n++; inside = 1; next } /^```$/ { inside = 0 } inside { print > (work "/" (n == 1 ? "walk" : n == 2 ? "unwind" : "write") ".c") }' docs/library.md
for name in walk unwind write; do
    ok "$name.c has at most 40 lines" test "$(wc -l <"$work/$name.c")" -le 40
    [ "$name" = walk ] || [ "$(uname -m)" = x86_64 ] || { skip "$name.c is for x86_64" && continue; }
    # shellcheck disable=SC2046 # flags are words
    ok "build $name.c" cc -Wall -Wextra -Werror -g -no-pie -o "$work/$name" "$work/$name.c" $(pkg-config --cflags --libs stackreel)
done
ok "run walk" "$work/walk" testdata/aarch64/orders/orders.reel
ok "it prints a line for each sample" test "$("$work/walk" testdata/aarch64/orders/orders.reel | wc -l)" -gt 200
if [ -x "$work/unwind" ]; then
    "$work/unwind" >"$work/unwound"
    ok "unwind reaches the root" grep -qx 'root reached' "$work/unwound"
    ok "... from main" test "$(sed -n 1p "$work/unwound" | xargs addr2line -fe "$work/unwind" | sed -n 1p)" = main
    ok "... to _start" test "$(sed -n 'x;$p' "$work/unwound" | xargs addr2line -fe "$work/unwind" | sed -n 1p)" = _start
    ok "write writes a capture" env --chdir="$work" "$work/write"
    ok "it passes stackreel verify" "$O/stackreel" verify "$work/own.reel"
    "$O/stackreel" script "$work/own.reel" >"$work/script"
    ok "the stack of its sample is from main to _start" test "$(sed -nE 's/^\s+[0-9a-f]+ (main|_start)\+.*/\1/p' "$work/script" | tr '\n' ' ')" = "main _start "
fi
# shellcheck disable=SC2046
ok "build it as C++" g++ -Wall -Wextra -Werror -fsyntax-only -x c++ $(pkg-config --cflags stackreel) - <<<'#include <stackreel.h>'
ok "the library exports exactly the functions of the header" diff \
    <(grep -oE '^(const )?[a-z].*\breel_[a-z_]+\(' include/stackreel.h | grep -oE 'reel_[a-z_]+\(' | tr -d '(' | sed 's/$/@@STACKREEL_1.0/' | sort -u) \
    <(nm -D --defined-only "$work/root/lib/libstackreel.so" | awk '$2 == "T" { print $3 }' | sort -u)
# A statically linked library must not clash with the program's own names.
ok "all global symbols of libstackreel.a begin with reel_" diff /dev/null \
    <(nm -g --defined-only "$work/root/lib/libstackreel.a" | awk 'NF == 3 && $3 !~ /^reel_/ { print $3 }' | sort -u)
ok "all types and constants of the header begin with reel_ or REEL_" diff /dev/null \
    <(sed 's|/\*.*\*/||' include/stackreel.h | grep -oE '^(struct|enum) [a-z_]+|^#define [A-Za-z_]+|^\s+[A-Z_]+ = [0-9]+' | sed -E 's/^\s*(struct |enum |#define )?//; s/ = .*//' |
        grep -vE '^(reel_|REEL_|STACKREEL_H$)')
ok "make uninstall" make -s O="$O" PREFIX="$work/root" uninstall
ok "no files remain" test -z "$(find "$work/root" -type f)"
finish
