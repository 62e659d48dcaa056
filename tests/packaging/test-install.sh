#!/bin/bash
# Installs into a folder, builds the example of docs/library.md against the installed files by pkg-config, and runs it.
# run.sh: makes
. "$(dirname "$0")/../count.sh"

export PKG_CONFIG_PATH=$work/root/lib/pkgconfig
ok "make install" make -s O="$O" PREFIX="$work/root" install
for file in bin/stackreel include/stackreel.h lib/libstackreel.so lib/libstackreel.a share/man/man1/stackreel.1 share/doc/stackreel/diff.schema.json; do
    ok "installs $file" test -e "$work/root/$file"
done
# The contents of the ```c block.
sed -n '/^```c$/,/^```$/{/^```/!p}' docs/library.md >"$work/example.c"
# shellcheck disable=SC2046 # flags are words
ok "build the example of docs/library.md" cc -Wall -Wextra -Werror -o "$work/example" "$work/example.c" $(pkg-config --cflags --libs stackreel)
# shellcheck disable=SC2046
ok "build it as C++" g++ -Wall -Wextra -Werror -fsyntax-only -x c++ $(pkg-config --cflags stackreel) - <<<'#include <stackreel.h>'
ok "run it" env LD_LIBRARY_PATH="$work/root/lib" "$work/example" testdata/aarch64/orders/orders.reel
ok "prints a line for each sample" test "$(LD_LIBRARY_PATH=$work/root/lib "$work/example" testdata/aarch64/orders/orders.reel | wc -l)" -gt 200
ok "the library exports exactly the functions of the header" diff \
    <(grep -oE '^(const )?[a-z].*\breel_[a-z_]+\(' include/stackreel.h | grep -oE 'reel_[a-z_]+\(' | tr -d '(' | sort -u) \
    <(nm -D --defined-only "$work/root/lib/libstackreel.so" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort -u)
# A statically linked library must not clash with the program's own names.
ok "all global symbols of libstackreel.a begin with reel_" diff /dev/null \
    <(nm -g --defined-only "$work/root/lib/libstackreel.a" | awk 'NF == 3 && $3 !~ /^reel_/ { print $3 }' | sort -u)
ok "all types and constants of the header begin with reel_ or REEL_" diff /dev/null \
    <(sed 's|/\*.*\*/||' include/stackreel.h | grep -oE '^(struct|enum) [a-z_]+|^#define [A-Za-z_]+|^\s+[A-Z_]+ = [0-9]+' | sed -E 's/^\s*(struct |enum |#define )?//; s/ = .*//' |
        grep -vE '^(reel_|REEL_|STACKREEL_H$)')
ok "make uninstall" make -s O="$O" PREFIX="$work/root" uninstall
ok "no files remain" test -z "$(find "$work/root" -type f)"
finish
