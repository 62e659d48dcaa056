#!/bin/bash
# Makes the files of this folder from testdata/programs/sframe.c:  make.sh V3-BINUTILS V2-BINUTILS LLVM, folders with CPU-linux-gnu-as, -ld and
# -objcopy that write that version of .sframe (binutils 2.46 and later; 2.41 to 2.45), and with llvm-mc and ld.lld (22 and later, which write
# version 2). Compilers: Debian's gcc for x86_64, aarch64, s390x.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$here/../programs/sframe.c
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
small=(-nostdlib -Wl,-z,noseparate-code,-z,norelro,--build-id=none -Wa,--gsframe)

# make CPU VERSION BINUTILS OPTION...
make() {
    local cpu=$1 version=$2 folder=$3 out=$here/$1-v$2.so
    shift 3
    rm -rf "$work"/*
    ln -s "$folder/$cpu-linux-gnu-as" "$work/as"
    ln -s "$folder/$cpu-linux-gnu-ld" "$work/ld"
    "$cpu-linux-gnu-gcc" -B "$work/" -O2 "$@" "${small[@]}" -Wl,-z,max-page-size=512 -fPIC -shared -o "$out" "$source"
    "$folder/$cpu-linux-gnu-objcopy" --strip-all --remove-section .comment "$out"
}

v3=$(realpath "$1") v2=$(realpath "$2") llvm=$(realpath "$3")
make x86_64 3 "$v3" -DMARKS
make x86_64 2 "$v2"
make aarch64 3 "$v3" -DMARKS -mbranch-protection=standard
make aarch64 2 "$v2" -mbranch-protection=standard
make s390x 3 "$v3" -DMARKS

# lld joins no sections of several objects.
gcc -O2 -fPIC -S -o "$work/llvm.s" "$source"
"$llvm/llvm-mc" --gsframe -triple x86_64-linux-gnu -filetype=obj -o "$work/llvm.o" "$work/llvm.s"
"$llvm/ld.lld" -shared -z max-page-size=4096 -z noseparate-code -z norelro --build-id=none --strip-all -o "$here/x86_64-v2-llvm.so" "$work/llvm.o"

# Programs with .sframe as their only unwind information.
for version in 2 3; do
    folder=$v3
    [ $version = 3 ] || folder=$v2
    rm -rf "$work"/*
    ln -s "$folder/x86_64-linux-gnu-as" "$work/as"
    ln -s "$folder/x86_64-linux-gnu-ld" "$work/ld"
    x86_64-linux-gnu-gcc -B "$work/" -O2 -DPROGRAM "${small[@]}" -static -Wl,--no-eh-frame-hdr -o "$work/program" "$source"
    "$folder/x86_64-linux-gnu-objcopy" --remove-section .eh_frame --remove-section .comment "$work/program" "$here/x86_64-v$version"
done
