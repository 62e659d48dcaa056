#!/bin/bash
# workloads.sh NAME - print, on one line, the command that runs a real program for about $SECONDS_OF_CPU seconds (default 3)
#
# Built on the first call, then taken from the cache. Words are quoted for the shell if needed: use eval, or read -ra if the
# cache's path needs no quoting. NAME is
#   exceptions   C++ with inlining and exceptions, -O2 -fomit-frame-pointer
#   descent      C, one function that calls itself 400 deep, 32 KB of live stack
#   recursion    C, three functions in random order 400 deep, about 40 KB of live stack
#   threads      C, eight threads, mutexes, system calls, vDSO
#   signals      C, recursion that signals interrupt, one handler on an alternate stack
#   ends         C, loops in .init and .fini, whatever $SECONDS_OF_CPU is
#   python       python3 with some of its C extensions
#   compile      g++ -O2 of a heavy file: the driver, cc1plus and as, with the distribution's CFI and no debug information
#   sqlite       sqlite3's shell, from Debian's source with -g -O2 -fomit-frame-pointer: one large unit
#   many         make -j2, 150 processes a second of a C compiler
#   server       postgres, redis and nginx with TLS at once, with their clients
#   mixed        node, java, PHP's JIT, qemu, LuaJIT, ffmpeg, openssl, postgres and g++ at once: much code without CFI
#   threads-10k  C, ten thousand threads that end after little work, again and again
#   cppcheck     cppcheck on its own source, built likewise: 100 MB, deep stacks; 4 or 11 seconds, whatever $SECONDS_OF_CPU is
# Status 77: this host cannot build it; standard error has the reason.
set -euo pipefail
truth=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$truth/../vm/common.sh"
[ $# = 1 ] || usage
name=$1 seconds=${SECONDS_OF_CPU:-3} programs=$truth/programs
flags=(-g -O2 -fomit-frame-pointer -Wall -Wextra -Werror)
cc=${CC:-gcc} cxx=${CXX:-g++}

# build FILE COMMAND...: runs the command to make $dir/FILE, unless the cache has its result
dir=
build() {
	local file=$1 key
	shift
	need "$1"
	key=$({ "$1" --version && printf '%s\n' "$@" && cat "$programs/$name".*; } | sha256sum | cut -c1-10)
	dir=$STACKREEL_CACHE/workloads/$name-$key
	cache_lock "workload-$name"
	[ -e "$dir/$file" ] || {
		mkdir -p "$dir"
		"$@" -o "$dir/$file.new"
		mv "$dir/$file.new" "$dir/$file"
	}
}

command=()
case $name in
exceptions)
	build exceptions "$cxx" -std=c++17 "${flags[@]}" "$programs/exceptions.cc"
	command=("$dir/exceptions" "$seconds")
	;;
descent | recursion | threads | signals)
	build "$name" "$cc" -std=gnu11 -pthread "${flags[@]}" "$programs/$name.c"
	command=("$dir/$name" "$seconds")
	;;
ends)
	build ends "$cc" "${flags[@]}" "$programs/ends.c"
	command=("$dir/ends")
	;;
python)
	need python3
	# the interpreter itself, since python3 in the path may be a script that searches for one
	command=("$(python3 -c 'import sys; print(sys.executable)')" "$programs/python.py" "$seconds")
	;;
compile)
	need "$cxx"
	mkdir -p "$STACKREEL_CACHE/workloads"
	command=("$programs/compile.sh" "${seconds%.*}" "$cxx" -std=c++17 -O2 -c -o /dev/null "$programs/exceptions.cc")
	;;
sqlite)
	dir=$("$truth/sqlite.sh")
	rounds=$(awk -v s="$seconds" 'BEGIN { print int(s * 3.7 + 0.999) }')
	for ((i = 0; i < rounds; i++)); do cat "$programs/sqlite.sql"; done >"$dir/work-$rounds.sql.$$"
	mv "$dir/work-$rounds.sql.$$" "$dir/work-$rounds.sql"
	command=("$dir/sqlite3" -batch -init "$dir/work-$rounds.sql" :memory: .exit)
	;;
many)
	need make "$cc"
	command=(make -s -j2 -f "$programs/many.mk" "CC=$cc" "FILES=$((${seconds%.*} * 50))")
	;;
server) command=("$programs/at_once.sh" "${seconds%.*}" redis postgres nginx-tls) ;;
mixed) command=("$programs/at_once.sh" "${seconds%.*}" node java php-jit qemu-user luajit ffmpeg openssl-gcm postgres g++) ;;
threads-10k)
	name=crowd
	build crowd "$cc" -std=gnu11 -pthread "${flags[@]}" "$programs/crowd.c"
	command=("$dir/crowd" "$seconds")
	;;
cppcheck)
	dir=$("$truth/cppcheck.sh")
	lib=$(echo "$dir"/cppcheck-*/lib)
	command=("$dir/cppcheck" -q --enable=style --max-configs=1 "$lib/checkclass.cpp")
	[ "${seconds%.*}" -lt 6 ] || command+=("$lib/valueflow.cpp")
	;;
*) usage ;;
esac
printf '%q ' "${command[@]}" | sed 's/ $/\n/'
