#!/bin/bash
# Makes this folder's sources again: what is in an unpacked source of binutils (README.md says of which version) with stackreel.patch.
#
#   elf/libiberty/update.sh FOLDER            takes FOLDER's files and applies the patch
#   elf/libiberty/update.sh FOLDER --patch    makes the patch anew, of how the files here differ from FOLDER's
set -eu
here=$(realpath "$(dirname "$0")")
from=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/a" "$work/b"
cp "$from/libiberty/cp-demangle.c" "$from/libiberty/cp-demangle.h" "$from/libiberty/rust-demangle.c" "$from/libiberty/d-demangle.c" "$from/include/demangle.h" "$work/a/"
if [ "${2-}" = --patch ]; then
    cp "$here"/*.[ch] "$work/b/"
    for file in "$work"/a/*; do
        name=${file##*/}
        (cd "$work" && diff -pu --label "a/$name" --label "b/$name" "a/$name" "b/$name") || [ $? = 1 ]
    done >"$here/stackreel.patch"
else
    patch -s -d "$work/a" -p1 <"$here/stackreel.patch"
    cp "$work"/a/*.[ch] "$from/COPYING" "$from/COPYING.LIB" "$here/"
fi
