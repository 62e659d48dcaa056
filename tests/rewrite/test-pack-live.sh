#!/bin/bash
# `stackreel pack`, `resolve` and `unpack` with programs recorded here, with debug information in each form that compilers write. The output
# without any file equals the output with the files, including lines (tests/names/trace_symbols.c). gdb and perf accept unpacked files as
# debug symbols.
# run.sh: thorough
# checks: =replay/rewrite elf/image replay/dwarf
#
#   tests/rewrite/test-pack-live.sh     O=DIR   the object directory (build)
. "$(dirname "$0")/../count.sh"
[ -x "$stackreel" ] || { skip "$stackreel is not built"; finish; }
[ "$(id -u)" = 0 ] || { skip "recording needs root"; finish; }
source=tests/programs/packed.cc

# symbols CAPTURE: functions, files and lines of all addresses, without the module's location.
symbols() {
    "$O/tests/names/trace_symbols" "$@" 2>"$work/symbols.err" | awk -F '\t' -v OFS='\t' '/^A/ { $2 = $3 = "" } { print }' | sort | uniq
}

# said COMMAND... CAPTURE: the command's output, without the file's name.
said() {
    "$stackreel" "$@" 2>&1 | sed "s|$work/[a-z0-9.-]*reel||"
}

# same NAME PROGRAM: records, packs and resolves the program.
same() {
    local name=$1 program=$2 how command
    if ! "$stackreel-record" -q -F 1500 -o "$work/a.reel" -- "$program" >"$work/log" 2>&1; then
        skip "$name: cannot record: $(tail -n 1 "$work/log")"
        return
    fi
    symbols "$work/a.reel" >"$work/symbols"
    for how in pack resolve; do
        run 0 "$stackreel" $how -q --symfs "$work" -o "$work/b.reel" "$work/a.reel"
        for command in script "script --no-inline" folded report "report --tree"; do
            # shellcheck disable=SC2086 # words
            cmp <(said $command -q "$work/a.reel") <(said $command -q --no-host-files "$work/b.reel")
            count $? "$name: $how: same $command"
        done
        symbols --no-host-files "$work/b.reel" | diff "$work/symbols" - >"$work/diff"
        count $? "$name: $how: same lines: $(head -n 3 "$work/diff")"
    done
    # Unpacked files are complete, except for the .dwo files that -gsplit-dwarf writes next to the objects.
    case $name in *split*) return ;; esac
    rm -rf "$work/files"
    run 0 "$stackreel" unpack -q --full --symfs "$work" -o "$work/files" "$work/a.reel"
    symbols --no-host-files --debug-dir "$work/files" "$work/a.reel" | diff "$work/symbols" - >"$work/diff"
    count $? "$name: unpack --full: same lines: $(head -n 3 "$work/diff")"
}

# build NAME COMMAND...: skips if it cannot be built here.
build() {
    local name=$1
    shift
    command -v "$1" >/dev/null || { skip "$name: $1 is not installed"; return 1; }
    "$@" >"$work/log" 2>&1 || { skip "$name: $(grep -m 1 -i error "$work/log")"; return 1; }
}

for options in "-g" "-gdwarf-4" "-g -gsplit-dwarf" "-g -fdebug-types-section" "-g1" "-g0"; do
    # shellcheck disable=SC2086 # words
    build "g++ $options" g++ -O2 $options -o "$work/a" $source && same "g++ $options" "$work/a"
done
build "clang++" clang++ -O2 -g -o "$work/a" $source && same "clang++" "$work/a"
if command -v dwz >/dev/null; then
    g++ -O2 -gdwarf-4 -o "$work/dwz1" $source && g++ -O3 -gdwarf-4 -o "$work/dwz2" $source && dwz -m "$work/shared.dwz" "$work/dwz1" "$work/dwz2" 2>"$work/log"
    if [ -s "$work/shared.dwz" ]; then same "dwz" "$work/dwz1"; else skip "dwz: $(head -n 1 "$work/log")"; fi
else
    skip "dwz is not installed"
fi

# ---- a capture with more symbols than the stripped program ----------------------------------

g++ -O2 -g -Wl,--build-id -o "$work/whole" $source && strip -o "$work/stripped" "$work/whole"
cp "$work/whole" "$work/program" # the program that is recorded
"$stackreel-record" -q -F 1500 -o "$work/a.reel" -- "$work/program" >/dev/null 2>"$work/log"
said script -q "$work/a.reel" >"$work/with"
run 0 "$stackreel" pack -q -o "$work/b.reel" "$work/a.reel"
cp "$work/stripped" "$work/program"
cmp "$work/with" <(said script -q "$work/b.reel")
count $? "same traces with a stripped file"
! cmp -s "$work/with" <(said script -q "$work/a.reel")
count $? "the stripped file alone gives other traces"

# ---- unpack ----------------------------------------------------------------------------------

run 0 "$stackreel" unpack -q -o "$work/debug" "$work/b.reel"
build_id=$(readelf -n "$work/program" | sed -n 's/.*Build ID: //p')
image=$work/debug/.build-id/${build_id:0:2}/${build_id:2}.debug
[ -s "$image" ] && grep -q "^.build-id/.*  $work/program\$" "$work/out"
count $? "no $image"
run 1 "$stackreel" unpack -q -o "$work/debug" "$work/b.reel"
says 'already exists; use --force to replace it'
run 0 "$stackreel" unpack -q --force -o "$work/debug" "$work/b.reel"
# A symbolic link in the folder is not followed, and only replaced with --force.
mkdir "$work/planted" && ln -s "$work/elsewhere" "$work/planted/.build-id" && mkdir "$work/elsewhere"
run 1 "$stackreel" unpack -q -o "$work/planted" "$work/b.reel"
[ -z "$(ls -A "$work/elsewhere")" ]
count $? "does not follow a link to a folder"
mkdir -p "$work/planted2/.build-id/${build_id:0:2}" && ln -s "$work/victim" "$work/planted2/.build-id/${build_id:0:2}/${build_id:2}.debug" && echo victim >"$work/victim"
run 1 "$stackreel" unpack -q -o "$work/planted2" "$work/b.reel"
run 0 "$stackreel" unpack -q --force -o "$work/planted2" "$work/b.reel"
[ "$(cat "$work/victim")" = victim ] && [ ! -L "$work/planted2/.build-id/${build_id:0:2}/${build_id:2}.debug" ]
count $? "does not follow a link to a file"
run 1 "$stackreel" unpack -q -o "$work/none" testdata/format/good-one-sample.reel
says "use 'stackreel pack'"
run 1 "$stackreel" unpack -q --full --no-host-files -o "$work/none" testdata/format/good-one-sample.reel
says 'no module files found'

# A file with two paths gives two modules with one build-id, and unpack writes one file from the larger image.
mkdir "$work/x" "$work/y" && cp "$work/whole" "$work/x/program" && ln "$work/x/program" "$work/y/program"
run 0 "$stackreel-record" -q -F 1500 -o "$work/d.reel" -- sh -c "$work/x/program; $work/y/program"
for how in pack resolve; do
    run 0 "$stackreel" $how -q -o "$work/e.reel" "$work/d.reel"
    cmp <(said script -q "$work/d.reel") <(said script -q --no-host-files "$work/e.reel")
    count $? "a file with two paths, $how: same traces"
done
run 0 "$stackreel" unpack -q -o "$work/two" "$work/e.reel"
[ "$(grep -c "^.build-id/${build_id:0:2}/.*/program\$" "$work/out")" = 2 ]
count $? "a file with two paths gives two modules: $(cat "$work/out")"

hot=$(nm -C "$work/whole" | sed -n 's/^\([0-9a-f]*\) [tTW] \(hot_[a-z]*(.*\)$/\1 \2/p' | head -n 1)
if command -v gdb >/dev/null && [ -n "$hot" ]; then
    gdb -q -nx -batch -ex "set debug-file-directory $work/debug" -ex "file $work/program" -ex "info symbol 0x${hot%% *}" >"$work/log" 2>&1
    grep -qF "${hot#* } in section" "$work/log"
    count $? "gdb knows ${hot#* }: $(tail -n 1 "$work/log")"
    gdb -q -nx -batch -ex "set debug-file-directory $work/debug" -ex "file $work/program" -ex "break hot_leaf" -ex run -ex backtrace >"$work/log" 2>&1
    grep -q '^#0 .*hot_leaf' "$work/log" && grep -q '^#[0-9]* .* in main ' "$work/log"
    count $? "gdb's backtrace: $(tail -n 3 "$work/log")"
else
    skip "gdb is not installed"
fi
if command -v perf >/dev/null && perf record -q -e cpu-clock -F 999 -o "$work/perf.data" -- "$work/program" >/dev/null 2>"$work/log"; then
    mkdir -p "$work/symfs/usr/lib" && cp -r "$work/debug" "$work/symfs/usr/lib/debug"
    mkdir -p "$work/symfs/$work" && cp "$work/program" "$work/symfs/$work/"
    perf script -i "$work/perf.data" --symfs "$work/symfs" -F ip,sym 2>/dev/null | grep -q hot_
    count $? "perf names the stripped program's samples"
    ! perf script -i "$work/perf.data" -F ip,sym 2>/dev/null | grep -q hot_
    count $? "perf cannot name them without the image"
else
    skip "perf is not installed or cannot record"
fi

# ---- a resolved capture contains no secrets ------------------------------------------------------------

run 0 "$stackreel-record" -q --raw-stacks -F 1500 -o "$work/raw.reel" -- "$work/program"
run 0 "$stackreel" resolve -q -o "$work/c.reel" "$work/raw.reel"
"$stackreel" dump -q --json --bytes "$work/raw.reel" | grep -q 5ec4e7b10c0de5a1 || "$stackreel" dump -q --json --bytes "$work/raw.reel" | grep -q a1e50d0cb1e7c45e
count $? "the raw capture contains the secret"
zstd -dc "$work/c.reel" 2>/dev/null | LC_ALL=C grep -qaP '\xa1\xe5\x0d\x0c|\x0d\x0c\xb1\xe7|\xb1\xe7\xc4\x5e'
[ $? = 1 ]
count $? "the resolved capture does not contain four bytes of the secret"
"$stackreel" dump -q --json "$work/c.reel" | grep '"record": "SAMPLE"' >"$work/log"
grep -q '"frame_chain": \[' "$work/log" && ! grep -q '"regions": \[{' "$work/log" && ! grep -q '"registers": \[\[' "$work/log"
count $? "the resolved capture contains no stacks or registers"

finish
