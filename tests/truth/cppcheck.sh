#!/bin/bash
# cppcheck.sh - print the folder of a cppcheck built from Debian's source with debug information, and of its source, cppcheck-*/
#
# A large program: 100 MB, most of it debug information. It takes minutes to build.
set -euo pipefail
. "$(dirname "$0")/source.sh"
cxx=${CXX:-g++} flags='-g -O2 -fomit-frame-pointer -std=c++11 -DNDEBUG'

build_program() {
	make -j"$(nproc)" CXX="$cxx" CXXFLAGS="$flags" FILESDIR="$dir" cppcheck
	cp -r cfg platforms "$dir/"
	cp cppcheck "$dir/cppcheck.new"
	find . -name '*.o' -delete
	rm cppcheck
}

source_build cppcheck cppcheck "$cxx" "$flags"
echo "$dir"
