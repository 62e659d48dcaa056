#!/bin/bash
# Kernel chains, with the files of the kernel and of a module. Compares every instruction of tests/kernel/*.c, as a leaf and as a return
# address, relocated by KASLR and by the module loader, with addr2line. Also checks which addresses must stay without names.
#
#   O=DIR   the object directory (build)
# run.sh: makes thorough
# checks: replay/files replay/dwarf =replay/names format/timeline
. "$(dirname "$0")/../count.sh"
[ "${O#/}" = "$O" ] && O=$PWD/$O
tool=$O/stackreel

for program in gcc ld objdump readelf addr2line python3 objcopy; do
    command -v $program >/dev/null || {
        skip "$program is not installed"
        finish
    }
done
if [ "$(uname -m)" != x86_64 ]; then
    skip "needs x86-64"
    finish
fi
[ -x "$O/tests/names/trace_symbols" ] || make -s O="$O" "$O/tests/names/trace_symbols" >&2

# build NAME OPTION...: builds vmlinux and driver.ko in $work/NAME.
build() {
    local out=$work/$1
    shift
    mkdir -p "$out"
    local flags=(-O2 -g -ffreestanding -fno-pie -mcmodel=kernel -fno-asynchronous-unwind-tables -fno-stack-protector "$@")
    gcc "${flags[@]}" -nostdlib -static -no-pie -Wl,--build-id -Wl,-Ttext=0xffffffff81001000 \
        -Wl,--section-start=.head.text=0xffffffff81000000 -Wl,-e,sys_read -o "$out/vmlinux" tests/kernel/core.c tests/kernel/more.c &&
        gcc "${flags[@]}" -c -o "$out/driver.o" tests/kernel/driver.c &&
        gcc "${flags[@]}" -c -o "$out/more.o" tests/kernel/more.c &&
        ld -r --build-id -o "$out/fake-driver.ko" "$out/driver.o" "$out/more.o" &&
        python3 tests/kernel/kernel_capture.py "$out/vmlinux" "$out/fake-driver.ko" "$out"
}

# compare NAME OPTION...: compares with addr2line; the options name the files.
compare() {
    local out=$work/$1
    shift
    "$O/tests/names/trace_symbols" --kernel "$@" "$out/kernel.reel" >"$out/answers" &&
        python3 tests/kernel/check_kernel.py "$out/answers" "$out/truth"
}

# chains_are FILE OPTIONS EXPECTED: script prints these frames, with one line "a;b" per sample, names only.
chains_are() {
    local file=$1 options=$2 expected=$3 got
    # shellcheck disable=SC2086 # a list of words
    got=$("$tool" script --no-host-files $options "$file" | awk '
        /^\t/ { sub(/\+0x[0-9a-f]+/, "", $2); chain = chain (chain ? ";" : "") $2 }
        /^$/ { print chain; chain = "" }') || return
    [ "$got" = "$expected" ] || {
        echo "expected:"; echo "$expected"; echo "got:"; echo "$got"; return 1
    }
}

# prints PATTERN COMMAND...: a line of the output matches.
prints() {
    local pattern=$1
    shift
    "$@" >"$work/printed" 2>&1
    grep -qE -e "$pattern" "$work/printed" || {
        echo "no line like $pattern:"
        cat "$work/printed"
        return 1
    }
}

for form in plain -gdwarf-4 -gz -ffunction-sections; do
    options=()
    [ $form = plain ] || options=("$form")
    ok "build ($form)" build $form "${options[@]}"
    ok "every instruction ($form)" compare $form --module "$work/$form/vmlinux" --module "$work/$form/fake-driver.ko"
done

# The locations that Debian and Fedora use, and by build-id.
p=$work/plain release=6.1.0-fake
id() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
mkdir -p "$work/debian/boot" "$work/debian/lib/modules/$release/kernel/drivers/fake"
cp "$p/vmlinux" "$work/debian/boot/vmlinux-$release"
cp "$p/fake-driver.ko" "$work/debian/lib/modules/$release/kernel/drivers/fake/"
ok "in the layout of Debian's packages" compare plain --debug-dir "$work/debian"
mkdir -p "$work/none" "$work/fedora/usr/lib/modules/$release/extra"
cp "$p/vmlinux" "$work/fedora/usr/lib/modules/$release/"
objcopy --only-keep-debug "$p/fake-driver.ko" "$work/fedora/usr/lib/modules/$release/extra/fake_driver.ko.debug"
ok "in the layout of Fedora's packages" compare plain --debug-dir "$work/fedora"
for file in vmlinux fake-driver.ko; do
    hex=$(id "$p/$file")
    mkdir -p "$work/ids/.build-id/${hex:0:2}"
    cp "$p/$file" "$work/ids/.build-id/${hex:0:2}/${hex:2}.debug"
done
ok "by build-id" compare plain --debug-dir "$work/ids"
ok "script finds them in --symfs" prints '^	ffffffff[0-9a-f]+ read_lock \(inlined\)$' \
    "$tool" script --no-host-files --symfs "$work/fedora" --debug-dir "$work/none" "$p/kernel.reel"
ok "info lists the file" prints 'debug information .*/boot/vmlinux-6.1.0-fake' \
    "$tool" info --no-host-files --debug-dir "$work/debian" "$p/kernel.reel"

# Modules compressed in each way that the kernel can load.
for program in xz zstd gzip; do
    command -v $program >/dev/null || { skip "$program is not installed"; continue; }
    suffix=${program%ip}
    [ $program = zstd ] && suffix=zst
    rm -rf "$work/debian/lib"
    mkdir -p "$work/debian/lib/modules/$release/kernel"
    packed=$work/debian/lib/modules/$release/kernel/fake-driver.ko.$suffix
    $program -c "$p/fake-driver.ko" >"$packed"
    ok "a module compressed by $program" compare plain --debug-dir "$work/debian"
    ok "... in a sandbox" cmp <("$tool" script --no-sandbox --no-host-files --debug-dir "$work/debian" "$p/kernel.reel" 2>&1) \
        <("$tool" script --sandbox --no-host-files --debug-dir "$work/debian" "$p/kernel.reel" 2>&1)
    head -c 600 "$packed" >"$packed.cut" && mv "$packed.cut" "$packed"
    ok "... truncated" prints 'fake-driver.ko.[a-z]+: compressed with [a-z]+: truncated' \
        "$tool" info --no-host-files --debug-dir "$work/debian" "$p/kernel.reel"
    (head -c 300 "$packed"; head -c 300 /dev/zero) >"$packed.cut" && mv "$packed.cut" "$packed"
    ok "... damaged" prints 'fake-driver.ko.[a-z]+: compressed with [a-z]+: (damaged|truncated)' \
        "$tool" info --no-host-files --debug-dir "$work/debian" "$p/kernel.reel"
    head -c 500000000 /dev/zero | $program -c >"$packed"
    ok "... of 500 MB of zeros" prints 'fake-driver.ko.[a-z]+: compressed with [a-z]+: decompresses to far more data' \
        "$tool" info --no-host-files --debug-dir "$work/debian" "$p/kernel.reel"
done

# Without files, or with the wrong ones, the capture's names are used.
functions() { "$tool" script --no-host-files "$@" "$p/kernel.reel" | grep -v inlined; }
ok "same names with and without files" cmp \
    <(functions --debug-dir "$work/none") <(functions --debug-dir "$work/debian")
ok "no inlined functions without files" prints '^0$' sh -c \
    "'$tool' script --no-host-files --debug-dir '$work/none' '$p/kernel.reel' | grep -c inlined"
other=$work/-gdwarf-4
ok "a different vmlinux is rejected" prints 'build-id.*[^ ]+vmlinux has build-id' \
    "$tool" info --no-host-files --debug-dir "$work/none" --module "$other/vmlinux" "$p/kernel.reel"
ok "a different vmlinux is not used" prints '^0$' sh -c \
    "'$tool' script --no-host-files --debug-dir '$work/none' --module '$other/vmlinux' '$p/kernel.reel' | grep -c inlined"
head -c 3000 "$p/vmlinux" >"$work/vmlinux"
ok "a broken vmlinux is reported" prints 'vmlinux: .*copy it again' \
    "$tool" info --no-host-files --debug-dir "$work/none" --module "$work/vmlinux" "$p/kernel.reel"
ok "a symbol's name must be in the file" prints '^0$' sh -c \
    "'$tool' script --no-host-files --debug-dir '$work/ids' '$p/unplaced.reel' | grep -c inlined"
ok "_text alone locates the kernel" chains_are "$p/anchor.reel" "--debug-dir $work/ids" "vfs_read
[unknown]"

# Addresses that were used again by different code.
ok "addresses used again" chains_are "$p/reuse.reel" "" "$(
    before='other_poll;other_poll;other_poll;other_init;other_init'
    echo "$before"; echo "$before"
    bpf='bpf_prog_6deef7357e7b4530;other_poll;bpf_prog_6deef7357e7b4530;bpf_prog_6deef7357e7b4530;other_init'
    echo "$bpf"; echo "$bpf"
    gone='[unknown];other_poll;[unknown];[unknown];other_init'
    echo "$gone"; echo "${gone/%\[unknown\];other_init/driver_late;other_init}"
    echo other_tail; echo '[unknown]'; echo other_last; echo '[unknown]')"
ok "an interrupted pc" chains_are "$p/interrupts.reel" "" \
    "before;asm_sysvec_call_function;interrupted;before;asm_load_gs_index;asm_load_gs_index"
ok "a kernel address that is also mapped by a program" prints '100010 startup\+0x10 \(\[kernel.kallsyms\]\)' \
    "$tool" script --no-host-files "$p/overlap.reel"

finish
