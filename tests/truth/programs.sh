#!/bin/bash
# programs.sh [--quick] [NAME...] - more than ninety programs: shares of complete, proved and wrong traces, and of unnamed frames
#
# perf records each program with 65,528 bytes of stack at 999 samples a second. perf, the newest perf and, after importing, stackreel replay
# the same samples. Another run of the same command is recorded by stackreel. programs.py judges all traces from the programs' files alone,
# and documents what it calls complete, proved and wrong. Programs that are not installed are skipped by name.
#
# Fails if stackreel has fewer complete traces than a perf (not counting its wrong ones), or wrong ones. Prints a table at the end, as in
# bench/PROGRAMS.md. NAME: only these, as shell patterns; --quick: only five; --list: print the names.
#
#   O=DIR          the object directory (build)
#   PERF_NEW=PATH  the newest perf: a program, or a command with words quoted for the shell (bench/peers.sh perf-new fetches Debian
#                  sid's with its libraries, and prints one). An empty PERF_NEW= skips it
#   EXAMPLES=N     print N examples of wrong traces and of incomplete traces for each program (2)
#   KEEP=DIR       keep the recordings there, and the output of each tool
#   TABLE=FILE     also write the table to this file
# shellcheck disable=SC2016 # commands are expanded where they are run
set -u
truth=$(cd "$(dirname "$0")" && pwd)
cd "$truth/../.." || exit 1
O=$(realpath "${O:-build}") sources=$truth/programs
stackreel=$O/stackreel recorder=$O/stackreel-record addresses=$O/tests/truth/addresses
export sources LC_ALL=C
unset DEBUGINFOD_URLS
# shellcheck source=tests/count.sh
. tests/count.sh
quick=
case ${1-} in
--quick) quick=yes && shift ;;
--list) sed -n 's/^program \([^ ]*\) .*/\1/p' "$truth/program_list.sh"; exit ;;
-*)
	sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
wanted=("$@")
[ -z "$quick" ] || [ ${#wanted[@]} -gt 0 ] || wanted=(perl threads gmp openssl-p521 deleted)

[ "$(uname -m)" = x86_64 ] || { skip "programs.py supports only x86-64 code"; finish; }
for program in "$stackreel" "$recorder" "$addresses"; do
	[ -x "$program" ] || { skip "$program is not built"; finish; }
done
[ "$(id -u)" = 0 ] || { skip "recording: not root"; finish; }
for program in python3 objdump perf; do
	command -v $program >/dev/null || { skip "$program is not installed"; finish; }
done
running=
# A left-over process of these programs has the program's folder as its working folder, or in its arguments: each program cleans up by
# itself.
trap '[ -z "$running" ] || kill "$running" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 125' INT TERM HUP
chmod 711 "$work"
"$recorder" -q -o "$work/probe.reel" -- true 2>"$work/err" || { skip "recording: $(head -n 1 "$work/err")"; finish; }
perf record -q -B -e cpu-clock -o "$work/probe.data" -- true >"$work/out" 2>"$work/err" || { skip "perf: $(grep -m 1 . "$work/err")"; finish; }

perf_names=() perf_commands=()
add_perf() {
	local version
	version=$(eval "$1 version" 2>"$work/err" | sed -nE 's/^perf version ([0-9]+\.[0-9]+).*/\1/p')
	[ -n "$version" ] || { skip "'$1' is not a working perf: $(head -n 1 "$work/err")"; return; }
	perf_names+=("$version") perf_commands+=("$1")
}
add_perf perf
if [ -z "${PERF_NEW-unset}" ] || [ -n "$quick" ]; then
	echo "using only this host's perf"
elif new=${PERF_NEW:-$(bench/peers.sh perf-new 2>"$work/err")}; then
	add_perf "$new"
else
	skip "the newest perf: $(tail -n 1 "$work/err"); set PERF_NEW to one"
fi

# ---- one program -----------------------------------------------------------------------------

# is_wanted NAME: without arguments all are, otherwise only those given.
is_wanted() {
	local pattern
	[ ${#wanted[@]} -gt 0 ] || return 0
	for pattern in "${wanted[@]}"; do
		# shellcheck disable=SC2053 # a pattern
		[[ $1 != $pattern ]] || return 0
	done
	return 1
}

# in_folder COMMAND...: runs it in the program's own folder, without standard input
in_folder() {
	(cd "$dir" && exec "$@") >>"$dir/log" 2>&1 </dev/null &
	running=$!
	wait "$running"
	local status=$?
	running=
	return $status
}

# record COMMAND RECORDER...: runs the recorder on the command or, with $attach, on the command's process after a moment.
record() {
	local command=$1 pid status
	shift
	if [ -z "$attach" ]; then
		in_folder "$@" -- sh -c "$command"
		return
	fi
	(cd "$dir" && exec sh -c "$command") >>"$dir/log" 2>&1 </dev/null &
	pid=$!
	sleep 0.5
	in_folder timeout -s INT 2 "$@" -p $pid
	status=$?
	kill $pid
	wait $pid
	[ $status = 124 ] || return $status
} 2>/dev/null

# perf 6.1 aborts while other events request build-ids (util/build-id.c), so try again later.
record_perf() {
	local i
	for i in 1 2 3 4 5; do
		rm -f "$dir/perf.data"
		record "$1" perf --buildid-dir "$work/debug" record -q -m 4096 -F 999 -e cpu-clock --call-graph dwarf,65528 -o "$dir/perf.data"
		python3 "$truth/perf_data.py" "$dir/perf.data" >"$dir/out" 2>"$work/err" && return 0
		echo "note: $name, attempt $i: $(tail -n 1 "$work/err")$(cat "$dir/out")" >&2
		sleep 1
	done
	return 1
}

# See program_list.sh.
program() {
	local name=$1 needs=$2 prepare=$3 command=$4 files=${5-} symfs=${6-} attach=${7-} lacks file options=() i
	is_wanted "$name" || return 0
	# shellcheck disable=SC2086 # words
	lacks=$(missing $needs)
	[ -z "$lacks" ] || { skip "$name: $lacks is not installed"; return; }
	dir=$work/$name
	mkdir -m 755 "$dir"
	: >"$work/err"
	in_folder sh -ec "$prepare" || { tail -n 5 "$dir/log"; count 1 "$name: preparing"; return; }
	record_perf "$command" || { tail -n 5 "$dir/log"; count 1 "$name: perf record"; return; }
	record "$command" "$recorder" -q -g -F 999 -o "$dir/recorded.reel"
	[ -z "$symfs" ] || symfs=$dir/$symfs
	"$stackreel" import -q "$dir/perf.data" -o "$dir/ours.reel" 2>"$work/err"
	"$addresses" --names "$dir/ours.reel" ${symfs:+"$symfs"} >"$dir/ours" 2>>"$work/err" &&
		"$addresses" --names "$dir/recorded.reel" ${symfs:+"$symfs"} >"$dir/recorded" 2>>"$work/err" &&
		"$stackreel" dump -q --json --bytes "$dir/recorded.reel" 2>>"$work/err" | grep -E '"record": "(SPACE|CODE|CODE_END|JIT_UNWIND)"' >"$dir/dump"
	count $? "$name: our traces" && [ -s "$dir/recorded" ] || return
	for i in "${!perf_commands[@]}"; do
		eval "${perf_commands[i]}" --buildid-dir "$work/debug" script --ns --no-inline --max-stack 20000 -F comm,pid,tid,time,ip,sym,dso \
			${symfs:+--symfs "$symfs"} -i "$dir/perf.data" >"$dir/perf-${perf_names[i]}" 2>"$work/err"
		options+=(--perf "${perf_names[i]}=$dir/perf-${perf_names[i]}")
	done
	for file in $files; do options+=(--file "$(eval "echo $file")"); done
	python3 "$truth/programs.py" --label "$name" --data "$dir/perf.data" "${options[@]}" --ours "$dir/ours" --recorded "$dir/recorded" --dump "$dir/dump" \
		--table "$work/table" --examples "${EXAMPLES:-2}" 2>"$work/err"
	count $? "$name: judged"
	not_below "$name"
	[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && rm -rf "${KEEP:?}/$name" && cp -a "$dir" "$KEEP/$name"; }
	rm -rf "$dir"
}

# not_below NAME: fails if a perf has more complete traces of the same samples, or if we have wrong traces, which is worse than incomplete
# ones. A perf's wrong traces cast doubt on as many of its complete ones, which are subtracted.
not_below() {
	awk -F '\t' -v name="$1" '
		$1 != name { next }
		$2 == "ours" { complete = $4 }
		$2 == "ours" || $2 == "recorded" { if ($6 > 0) { print $2 ": " $6 " % wrong"; bad = 1 } next }
		$4 - $6 > complete { print "perf " $2 ": " $4 " % complete, ours " complete; bad = 1 }
		END { exit bad }' "$work/table" >"$work/err"
	count $? "$1: at least as good as perf, and none wrong"
}

# ---- the programs -------------------------------------------------------------------------------

# shellcheck source=tests/truth/program_list.sh
. "$truth/program_list.sh"

# ---- the table --------------------------------------------------------------------------------------

[ -s "$work/table" ] || finish
{
	echo "Measured on $(date -u +%F) on Linux $(uname -r | cut -d- -f1) with $(nproc) CPUs; $("$stackreel" --version), perf ${perf_names[*]}."
	echo
	awk -F '\t' -v perfs="${perf_names[*]}" '
		!($1 in seen) { seen[$1] = ++n; names[n] = $1 }
		{ if ($2 == "ours") samples[$1] = $3; for (i = 4; i <= 7; i++) value[$1, $2, i] = $i }
		END {
			split(". . . complete proved wrong unnamed", words, " ")
			for (i = 4; i <= 7; i++) {
				k = split(i == 5 ? "ours recorded" : "ours " perfs " recorded", tools, " ")
				for (t = 1; t <= k; t++) { columns[++m] = i; tool[m] = tools[t] }
			}
			printf "| program | samples |"
			for (c = 1; c <= m; c++) printf " %s: %s%s |", words[columns[c]], tool[c] ~ /^[0-9]/ ? "perf " : "", tool[c]
			printf "\n|---|---:|"
			for (c = 1; c <= m; c++) printf "---:|"
			for (i = 1; i <= n; i++) {
				printf "\n| %s | %d |", names[i], samples[names[i]]
				for (c = 1; c <= m; c++) printf " %s |", value[names[i], tool[c], columns[c]]
			}
			print ""
		}' "$work/table"
} | tee "${TABLE:-/dev/null}"
finish
