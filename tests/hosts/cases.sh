#!/bin/bash
# cases.sh OUTDIR - make the cases that tests/hosts/test.sh runs on every host: OUTDIR/cases, with one line of stackreel arguments per case
#
#   O=DIR   the object directory (build), of this host
#
# Uses all of testdata, and files derived from it here: perf recordings with different contents and with
# damage, captures made by import, files of more than 4 GB. A case's arguments contain no blanks; cases are run in the top folder.
#
#   LONG=1  one more command for each capture of the matrix, not for every fourth
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$1 O=${O:-build}
mkdir -p "$out"
shopt -s nullglob

# replay ARGUMENT...: all commands that show a capture
replay() {
    printf "%s $*\n" "info --all-modules" "report" "report --by=module --sort=symbol --percent-limit=0" "report --tree --by=thread" \
        "report --residency --percent-limit=0" "script --ns" "script --no-inline --no-demangle" "folded --annotate --with-comm" \
        "folded --weight=time --unit=us"
}

# Captures for each rule of the format, with one of the other commands in turn
format() {
    local file n=0
    local ways=("dump --json" "info --no-host-files" "report --no-host-files" "folded --no-host-files" "dump --bytes" "verify")
    for file in testdata/format/*.reel; do
        printf "%s $file\n" "script --no-host-files" "${ways[n++ % ${#ways[@]}]}"
    done
    printf "%s --identity testdata/format/encrypted.key testdata/format/encrypted.reel\n" "script" "info" "dump --json"
    echo "info testdata/format/no-such-file.reel"
    echo "dump testdata/format"
}

# The golden archive
golden() {
    local file key
    for file in testdata/golden/*.reel; do
        key=
        [[ $file != *-encrypted.reel ]] || key="--identity testdata/format/encrypted.key "
        printf "%s $key$file\n" "script --no-host-files" "verify"
    done
}

# Captures, with their folder as the target's file system
scenarios() {
    local file
    for file in testdata/*/*/*.reel; do
        replay --no-host-files --symfs "${file%/*}" "$file"
        echo "dump --bytes $file"
        echo "dump --json $file"
    done
}

# The matrix of CPUs and scenarios, with unpacked binaries: every trace of each capture, and for some one of the other commands in turn
matrix() {
    local cpu file symfs n=0
    local ways=("report" "folded --annotate" "info --all-modules" "dump --bytes" "report --tree --percent-limit=0" "dump --json")
    for cpu in testdata/*/chains/symfs.tar.xz; do
        cpu=${cpu#testdata/} cpu=${cpu%/chains/*}
        symfs=$out/symfs-$cpu
        tests/matrix/unpack.sh "$cpu" "$symfs"
        for file in testdata/"$cpu"/chains/*/*.reel; do
            local where="--no-host-files --symfs $symfs --debug-dir $symfs/usr/lib/debug $file"
            echo "script $where"
            n=$((n + 1))
            [ -n "${LONG:-}" ] || [ $((n % 4)) = 0 ] || continue
            local way=${ways[n / 4 % ${#ways[@]}]}
            case $way in
            dump*) echo "$way $file" ;;
            *) echo "$way $where" ;;
            esac
        done
        find "$symfs" -type f -name '*chains' | sort | head -n 2 | sed 's/^/table /'
    done
}

# The ELF files
tables() {
    local file
    find testdata -type f -not -name '*.reel' -not -name '*.data' | sort | while read -r file; do
        cmp -s -n 4 "$file" <(printf '\177ELF') && echo "table $file"
    done
    echo "table testdata/README.md"
}

# Recordings, and the replay of their imports
imports() {
    local file capture kind size part
    for file in testdata/*/perf/*.data; do
        capture=${file#testdata/}
        capture=$out/${capture//\//-}.reel
        echo "import -o - $file"
        "$O/stackreel" import -q -o "$capture" "$file"
        replay --no-host-files --symfs "${file%/*}" "$capture"
    done
    for kind in file big-endian compressed pipe bad killed none no-arch directory; do
        file=$out/$kind.data
        "$O/tests/cli/make_perf_data" $kind >"$file"
        echo "import -o - $file"
        size=$(stat -c %s "$file")
        for part in $((size / 4)) $((size / 2)) $((size - 20)); do
            head -c $part "$file" >"$file-$part"
            echo "import --arch=x86_64 -o - $file-$part"
        done
    done
}

# File offsets beyond 32 bits
large() {
    local kind
    for kind in capture index; do
        tests/hosts/large.py $kind testdata/format/good-two-threads.reel "$out/large-$kind.reel"
        printf "%s $out/large-$kind.reel\n" "info" "report" "dump --bytes"
    done
    tests/hosts/large.py perf testdata/x86_64/perf/fp.data "$out/large.data"
    echo "import -o - $out/large.data"
}

# Output that needs no file
usage() {
    local command
    echo "--help"
    echo "--version"
    for command in report script folded info dump table import; do
        printf "$command %s\n" --help --usage --no-such-option --max-frames=0
    done
}

{ format; golden; scenarios; matrix; tables; imports; large; usage; } >"$out/cases"
