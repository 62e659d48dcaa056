#!/bin/bash
# Installs below a folder, and builds README's example against what was installed, by pkg-config; then runs it.
# run.sh: makes
set -u
cd "$(dirname "$0")/.."
O=${O:-build}
passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

check() {
    local what=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $what"
        sed 's/^/    /' "$work/log"
    fi
}

export PKG_CONFIG_PATH=$work/root/lib/pkgconfig
check "make install" make -s O="$O" PREFIX="$work/root" install
for file in bin/stackreel include/stackreel.h lib/libstackreel.so lib/libstackreel.a share/man/man1/stackreel.1; do
    check "$file is installed" test -e "$work/root/$file"
done
# Inside of the ```c block.
sed -n '/^```c$/,/^```$/{/^```/!p}' README.md >"$work/example.c"
# shellcheck disable=SC2046 # flags are words
check "README's example builds" cc -Wall -Wextra -Werror -o "$work/example" "$work/example.c" $(pkg-config --cflags --libs stackreel)
# shellcheck disable=SC2046
check "it builds as C++" g++ -Wall -Wextra -Werror -fsyntax-only -x c++ $(pkg-config --cflags stackreel) - <<<'#include <stackreel.h>'
check "it runs" env LD_LIBRARY_PATH="$work/root/lib" "$work/example" testdata/aarch64/orders/orders.reel
check "it prints a line for each sample" test "$(LD_LIBRARY_PATH=$work/root/lib "$work/example" testdata/aarch64/orders/orders.reel | wc -l)" -gt 200
check "the library exports what the header has, and nothing else" diff \
    <(grep -oE '^(const )?[a-z].*\breel_[a-z_]+\(' include/stackreel.h | grep -oE 'reel_[a-z_]+\(' | tr -d '(' | sort -u) \
    <(nm -D --defined-only "$work/root/lib/libstackreel.so" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort -u)
check "make uninstall" make -s O="$O" PREFIX="$work/root" uninstall
check "nothing is left" test -z "$(find "$work/root" -type f)"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
