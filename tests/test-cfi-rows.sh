#!/bin/bash
# Every row of CFI of real libraries, as libdw reads it, against ours: a file, a case.
#   CFI_FILES="a b"   more files
set -u
cd "$(dirname "$0")/.."
O=${O:-build}
program=$O/tests/cfi_rows
passed=0 failed=0 skipped=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

if [ ! -x "$program" ]; then
    echo "skip: $program is not built"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi

# check FILE NAME: a file that is not there is a skip.
check() {
    local output
    if [ ! -e "$1" ]; then
        echo "skip: no ${2:-$1}"
        skipped=$((skipped + 1))
        return
    fi
    if output=$("$program" "$1" 2>&1); then
        passed=$((passed + 1))
        [ -z "${V-}" ] || echo "$output"
    else
        failed=$((failed + 1))
        echo "FAIL ${2:-$1}"
        echo "$output"
    fi
}

# compiled COMPILER NAME OPTION...: .debug_frame instead of .eh_frame, in the forms that compilers know.
compiled() {
    local cc=$1 name=$2
    shift 2
    if ! command -v "$cc" >/dev/null ||
        ! "$cc" -g -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables "$@" -shared -fPIC -nostdlib \
            -o "$dir/$name" "$dir/code.c" 2>/dev/null; then
        echo "skip: $cc $* does not build it"
        skipped=$((skipped + 1))
        return
    fi
    check "$dir/$name" "$cc $*"
}

cat >"$dir/code.c" <<'EOF'
extern int other(int *, int);
__attribute__((noinline)) int leaf(int a) { return a * 3 + 1; }
int frame(int a, int b)
{
	int array[64];
	for (int i = 0; i < 64; i++)
		array[i] = leaf(a + i) + other(array, b);
	return a > b ? array[a & 63] : frame(b, array[b & 63]) + other(array, a);
}
int variable(int n)
{
	int array[n];
	return other(array, n) + array[n - 1] + frame(n, array[0]);
}
EOF

lib=/lib/$(gcc -print-multiarch 2>/dev/null || echo x86_64-linux-gnu)
for name in libc.so.6 libstdc++.so.6 libgcc_s.so.1 libcrypto.so.3; do
    file=$lib/$name
    [ -e "$file" ] || file=/usr$file
    check "$file" "$name"
done
for file in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do
    [ ! -e "$file" ] || check "$file"
done
check /usr/bin/python3 python3
for triple in aarch64-linux-gnu riscv64-linux-gnu s390x-linux-gnu; do
    [ "/lib/$triple" = "$lib" ] || check "/usr/$triple/lib/libc.so.6" "libc.so.6 of $triple"
    [ "/lib/$triple" = "$lib" ] || check "/usr/$triple/lib/libgcc_s.so.1" "libgcc_s.so.1 of $triple"
done
compiled gcc dwarf4 -gdwarf-4
compiled gcc dwarf5 -gdwarf-5
compiled gcc dwarf64 -gdwarf-5 -gdwarf64
compiled gcc compressed -gz=zlib
for cc in aarch64-linux-gnu-gcc riscv64-linux-gnu-gcc s390x-linux-gnu-gcc; do
    compiled $cc $cc -gdwarf-4
done
compiled aarch64-linux-gnu-gcc signed -mbranch-protection=pac-ret+leaf
for file in ${CFI_FILES-}; do
    check "$file"
done

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
