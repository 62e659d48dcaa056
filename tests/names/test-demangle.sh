#!/bin/bash
# Demangling by the copy in elf/libiberty/, and of Ada. The text matches that of c++filt and gdb for names from programs and
# libraries of this host, and hostile names, which would take forever or overflow the stack, do not break a report.
#
#   O=DIR    the object directory (build)
#   LONG=1   all libraries and programs of this host, including Rust
# run.sh: longer
. "$(dirname "$0")/../count.sh"
O=$(realpath "${O:-build}")
export LC_ALL=C

# ---- the text -------------------------------------------------------------------------------------

# d_files: the libraries of D's compilers
d_files() {
    find /usr/lib /usr/lib64 \( -name 'libgphobos.so.*.*' -o -name 'libphobos2-ldc-shared.so.*.*' \) -type f 2>/dev/null
}

# files: files with C++ or Rust names
files() {
    if [ "${LONG-}" = 1 ]; then
        find /usr/lib /usr/bin "${RUSTUP_HOME:-$HOME/.rustup}" -type f \( -name '*.so*' -o -name '*.a' -o -name '*.rlib' -o -perm -u+x \) 2>/dev/null
    else
        find /usr/lib /usr/lib64 \( -name 'libstdc++.so.6.*' -o -name 'libLLVM*.so*' \) -type f -size +100k 2>/dev/null | sort | head -n 3
    fi
}

# names BEGIN: the names that begin so in the files on standard input, up to the length limit of demangling
names() {
    local file number=0
    while read -r file; do
        [ -z "${LONG-}" ] || in_share $((number++)) || continue
        nm -p "$file" 2>/dev/null
        nm -Dp "$file" 2>/dev/null
    done | sed -nE "s/^.* ($1)([^ @]*)(@.*)?\$/\1\2/p" | awk 'length($0) <= 1024' | sort -u
}

# compare_text OPTION...: counts $work/names whose text differs. c++filt may be older: a name that it leaves mangled is not counted.
compare_text() {
    local all different newer
    "$O/tests/names/demangle" <"$work/names" >"$work/ours"
    c++filt -i "$@" <"$work/names" >"$work/theirs"
    all=$(wc -l <"$work/names")
    newer=$(paste -d '\n' "$work/names" "$work/ours" "$work/theirs" |
        awk 'NR % 3 == 1 { name = $0 } NR % 3 == 2 { ours = $0 } NR % 3 == 0 && $0 == name && ours != name { n++ } END { print n + 0 }')
    paste -d '\n' "$work/names" "$work/ours" "$work/theirs" |
        awk 'NR % 3 == 1 { name = $0 } NR % 3 == 2 { ours = $0 } NR % 3 == 0 && $0 != ours && $0 != name { print name; print "  " ours; print "  " $0 }' >"$work/different"
    different=$(grep -vc '^  ' "$work/different")
    echo "$all names: $different differ from c++filt, only ours demangles $newer"
    head -n 15 "$work/different"
    [ "$different" = 0 ] && [ "$(cmp -s "$work/names" "$work/ours" && echo same)" != same ]
    count $? "same text as c++filt, except for $different names"
}

if ! command -v c++filt >/dev/null; then
    skip "c++filt is not installed"
else
    files | names '_Z|_R|_GLOBAL_' >"$work/names"
    if [ -s "$work/names" ]; then compare_text; else skip "no libstdc++ or LLVM on this host to compare names of, or none in this share"; fi
    d_files | names _D >"$work/names"
    if [ -s "$work/names" ]; then compare_text --format=dlang; else skip "no library of D on this host to compare names of, or none in this share"; fi
fi

# ---- Ada, by debug information -------------------------------------------------------------------------------------

# ada: the names of a program's functions, one of which is in C; gdb writes those it does not decode as <name>
ada() {
    cp tests/programs/names/* "$work/ada" && cd "$work/ada" || return
    gcc -g -c bits.c && gnatmake -q -g -fno-inline names_main.adb -largs bits.o || return
    nm names_main | sed -n 's/^\([0-9a-f]*\) [tT] .*/\1/p' >addresses
    gdb -nx -q -batch -ex 'python
for line in open("addresses"):
    block = gdb.block_for_pc(int(line, 16))
    while block and not block.function: block = block.superblock
    if block: print(line.strip(), block.function.print_name.strip("<>"))' names_main >named
    cut -d ' ' -f 2- named >wanted
    cut -d ' ' -f 1 named | "$O/tests/names/symbolize" names_main | sed -n '1~3p' >got
    [ "$(grep -c '^work\.' got)" -ge 10 ] && grep -qx 'work__bits__count' got && diff wanted got
}
mkdir "$work/ada"
if command -v gnatmake >/dev/null && command -v gdb >/dev/null; then
    (ada)
    count $? "Ada names have gdb's text"
else
    skip "no gnatmake or gdb"
fi

# ---- report -------------------------------------------------------------------------------------

# repeat N TEXT
repeat() {
    printf "%0.s$2" $(seq "$1")
}

# hostile: names that make libiberty hang or use the most stack; one exceeds libiberty's length limit
hostile() {
    echo "_RMIC0FG$(repeat 10 z)_EuEu"
    echo "_ZN1acv$(repeat 250 T_I)i$(repeat 250 E)Ev"
    echo "_Z1fIJ$(repeat 200 i)EEv$(repeat 350 Dp)T_"
    echo "_Z$(repeat 170 Z)1fv$(repeat 170 E1av)"
    echo "_Z1fDp$(repeat 500 Dp)i"
    echo "_Z1fIRiEv$(repeat 900 RT_)$(repeat 200 1AIOT_E)"
}

# rename OLD NEW: renames a symbol of the program in symfs
rename() {
    objcopy --redefine-sym "$1=$2" "$work/symfs/usr/bin/orders"
}

# report NAME...: reports testdata/i386/orders, with its functions renamed to these names
report() {
    local old=(_ZN4shop8Checkout8checkoutEPKNS_5OrderEi _ZN4shop4walkEiy _ZN4shopL8by_valueEPKvS1_ _ZN4shop4rankEy _ZN4shop3runEd main) i
    mkdir -p "$work/symfs/usr/bin"
    # Without debug information, names are taken from the symbol table.
    objcopy --strip-debug testdata/i386/orders/usr/bin/orders "$work/symfs/usr/bin/orders" || return
    for i in "${!old[@]}"; do rename "${old[i]}" "$1" && shift; done || return
    # The first limit is for the main thread's stack and the default for all other threads: 8 MB on most hosts. The second is CPU time.
    (
        ulimit -s 512 -t 60
        exec "$O/stackreel" report --no-host-files --symfs "$work/symfs" -j2 testdata/i386/orders/orders.reel
    ) >"$work/report" 2>"$work/err"
}

# reported: whether the report contains each name unchanged
reported() {
    local name
    for name; do grep -qF -- "$name" "$work/report" || return; done
}

if ! objcopy --info 2>/dev/null | grep -q elf32-i386; then
    skip "no objcopy that supports i386"
else
    mapfile -t hostile_names < <(hostile)
    report "${hostile_names[@]}"
    count $? "a report with hostile names finishes"
    ok "and shows them unchanged" reported "${hostile_names[@]}"
fi

# ---- the copy of libiberty -------------------------------------------------------------------------------------

# original: the sources without our patch are identical to binutils' sources
original() {
    mkdir "$work/original"
    cp elf/libiberty/*.[ch] "$work/original/"
    patch -sRF0 -d "$work/original" -p1 <elf/libiberty/stackreel.patch && (cd "$work/original" && sha256sum --quiet -c "$OLDPWD/elf/libiberty/originals.sha256")
}

if command -v patch >/dev/null; then
    ok "elf/libiberty is binutils with our patch" original
else
    skip "patch is not installed"
fi
finish
