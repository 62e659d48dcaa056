#!/bin/bash
# perf.sh [--quick] - compare our traces of perf.data files with those of perf script, from the same bytes
#
# Records real programs (workloads.sh) with perf, imports the files, and compares every sample's kernel and user pcs with those that perf
# script prints: the distribution's perf (libunwind or libdw, as built), and the newest of Debian's sid (libdw).
# perf_compare.py judges differences with a third unwinder. A difference that it cannot explain is a failure, and so is a recording in which
# less than 99.9 % are equal, or longer and right.
#
#   --quick             four programs for a second each, the distribution's perf only
#   $O                  the object folder (default build)
#   $SECONDS_OF_CPU     how long each program runs (default 3, quick 1)
#   $WORKLOADS, $MODES  only these
#   $KEEP               a folder that keeps recordings with differences
set -uo pipefail
truth=$(cd "$(dirname "$0")" && pwd)
cd "$truth/../.." || exit 1
object_dir=$(realpath "${O:-build}") stackreel=$object_dir/stackreel addresses=$object_dir/tests/truth/addresses
. tests/count.sh
checked=
quick=
[ "${1-}" != --quick ] || quick=yes
export SECONDS_OF_CPU=${SECONDS_OF_CPU:-$([ -n "$quick" ] && echo 1 || echo 3)} LC_ALL=C
unset DEBUGINFOD_URLS

finish() {
	[ ! -s "$work/table" ] || summary
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ]
	exit
}

fail() {
	echo "FAILED: $1"
	failed=$((failed + 1))
	[ ! -s "$work/err" ] || tail -n 5 "$work/err" | sed 's/^/    /'
}

# Totals over all recordings: the samples of each class, for each perf.
summary() {
	sort -t "$(printf '\t')" -k2,2 "$work/table" | awk -F '\t' '
		{ n[$2 "\t" $5] += $3; if (!(($1, $2) in seen)) { seen[$1, $2] = 1; total[$2] += $4 } }
		END { for (key in n) { split(key, k, "\t"); printf "%s\t%d\t%.3f %%\t%s\n", k[1], n[key], 100 * n[key] / total[k[1]], k[2] } }' |
		sort -t "$(printf '\t')" -k1,1 -k2,2nr |
		awk -F '\t' 'BEGIN { print "perf  samples    share  class (all recordings)" } { printf "%-5s %7d %10s  %s\n", $1, $2, $3, $4 }'
}

child=
trap '[ -z "$child" ] || kill "$child" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 125' INT TERM HUP

[ "$(uname -m)" = x86_64 ] || { skip "reference.py supports only x86_64"; finish; }
for program in "$stackreel" "$addresses"; do
	[ -x "$program" ] || { skip "$program is not built"; finish; }
done
"$stackreel" import --help >/dev/null 2>&1 || { skip "stackreel has no import"; finish; }
python3 -c 'import ctypes; ctypes.CDLL("libdw.so.1"), ctypes.CDLL("libzstd.so.1")' 2>"$work/err" ||
	{ skip "python3 cannot load libraries: $(tail -n 1 "$work/err")"; finish; }
perf version >"$work/version" 2>&1 || { skip "no working perf: $(head -n 1 "$work/version")"; finish; }
perf record -q -B -e cpu-clock -o "$work/data" -- true >"$work/out" 2>"$work/err" ||
	{ skip "perf cannot record here: $(grep -m 1 . "$work/err")"; finish; }

# ---- perf versions -----------------------------------------------------------------------------

names=() commands=()
add_perf() {
	names+=("$("$@" version | sed -E 's/^perf version ([0-9]+\.[0-9]+).*/\1/')")
	commands+=("$(printf '%q ' "$@")")
}
add_perf perf
if [ -z "$quick" ]; then
	if root=$("$truth/../vm/sysroot.sh" sid "$(dpkg --print-architecture)" linux-perf 2>"$work/err"); then
		# With its own loader and libraries: sid's libc is newer than the host's.
		libraries=$root/usr/lib/x86_64-linux-gnu
		add_perf "$libraries/ld-linux-x86-64.so.2" --library-path "$libraries" "$root/usr/bin/perf"
	else
		skip "the newest perf: $(tail -n 1 "$work/err")"
	fi
fi
newest=$((${#commands[@]} - 1))

# ---- recording -----------------------------------------------------------------------------

# record MODE COMMAND...: writes $work/data. Uses a separate folder of files by build-id, so that the user's stays unchanged and perf finds
# the vDSO's image in it.
record() {
	local mode=$1 status dwarf=(--call-graph "dwarf,65528")
	shift
	local piped=(--buildid-dir "$work/debug" record -q -m 4096 -F 999)
	local base=("${piped[@]}" -o "$work/data")
	rm -f "$work/data"
	case $mode in
	user) perf "${base[@]}" -e cpu-clock:u "${dwarf[@]}" -- "$@" ;;
	kernel) perf "${base[@]}" -e cpu-clock "${dwarf[@]}" -- "$@" ;;
	small) perf "${base[@]}" -e cpu-clock --call-graph dwarf,8192 -- "$@" ;;
	compressed) perf "${base[@]}" -e cpu-clock -z "${dwarf[@]}" -- "$@" ;;
	exec) perf "${base[@]}" -e cpu-clock "${dwarf[@]}" -- sh -c 'exec "$@"' sh "$@" ;;
	fp) perf "${base[@]}" -e cpu-clock --call-graph fp -- "$@" ;;
	all) perf "${base[@]}" -a -e cpu-clock "${dwarf[@]}" -- "$@" ;;
	attach | pipe)
		"$@" >"$work/out" 2>&1 &
		child=$!
		sleep 0.2
		if [ "$mode" = pipe ]; then # attached: the program's own output would mix with perf's
			perf "${piped[@]}" -e cpu-clock "${dwarf[@]}" -o - -p $child -- sleep "$SECONDS_OF_CPU" | cat >"$work/data"
			status=${PIPESTATUS[0]}
		else
			perf "${base[@]}" -e cpu-clock "${dwarf[@]}" -p $child -- sleep "$SECONDS_OF_CPU"
			status=$?
		fi
		kill $child 2>/dev/null
		wait $child 2>/dev/null
		child=
		return $status
		;;
	newest) eval "${commands[newest]}" "$(printf '%q ' "${base[@]}" -e cpu-clock "${dwarf[@]}" -- "$@")" ;;
	esac
}

# record_again MODE COMMAND...: retries if another program is recording. Linux marks a mapping's record as having a build-id in every buffer
# once one event requested it (perf_event_mmap_output in kernel/events/core.c does not reset the bit). perf 6.1 believes the mark, and
# aborts in record or in script, as the device number is not a valid build-id size. Also retries if perf lost the end of its compressed data
# (perf_data.py, CutShort).
record_again() {
	local status i why
	for i in 1 2 3 4 5 6 7 8 9 10; do
		status=0
		record "$@" >"$work/out" 2>"$work/err" || status=$?
		if [ $status = 134 ]; then
			grep -q 'build-id.c' "$work/err" || return $status
		elif [ $status != 0 ]; then
			return $status
		else
			python3 "$truth/perf_data.py" "$work/data" >"$work/out" 2>"$work/err" && return
			status=$?
		fi
		why="mappings marked with build-ids that were not asked for (somebody else records as well)"
		[ $status != 1 ] || [ ! -s "$work/err" ] || return 1
		if [ $status = 3 ]; then
			[ "$1" = compressed ] || { mv "$work/out" "$work/err" && return 1; }
			why="perf's file is cut short: $(cat "$work/out")"
		fi
		echo "note: $1, attempt $i: $why" >&2
		sleep 2
	done
	[ $status != 3 ] || return 1
	return 77
}

# compare WORKLOAD MODE: compares our traces of $work/data with those of every perf
compare() {
	local i label="$1 $2" only=
	# other programs' files may be replaced at any time
	[ "$2" != all ] || only=$1
	if ! "$stackreel" import --raw-stacks "$work/data" -o "$work/ours.reel" >"$work/out" 2>"$work/err"; then
		fail "$label: import"
		return
	fi
	if ! "$addresses" "$work/ours.reel" >"$work/ours" 2>"$work/err"; then
		fail "$label: import"
		return
	fi
	for i in "${!commands[@]}"; do
		eval "${commands[i]}" --buildid-dir "$work/debug" script --ns --no-inline --max-stack 20000 -F comm,pid,tid,time,ip,dso \
			-i "$work/data" >"$work/theirs" 2>"$work/err" || {
			# older versions cannot always read the newest perf's files
			if [ "$2" = newest ] && [ "$i" != "$newest" ]; then
				echo "$label perf ${names[i]}: cannot read it: $(tail -n 1 "$work/err")"
			else
				fail "$label: perf ${names[i]} script"
			fi
			continue
		}
		local options=(--data "$work/data" --perf "${names[i]}=$work/theirs" --label "$label" ${only:+--comm "$only"}
			--alone "${names[i]}=${commands[i]} --buildid-dir $work/debug")
		if python3 "$truth/perf_compare.py" "${options[@]}" --ours "$work/ours" --table "$work/table" --examples "${EXAMPLES:-1}" \
			2>"$work/err"; then
			passed=$((passed + 1))
		else
			fail "$label, perf ${names[i]}"
			[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && cp "$work/data" "$KEEP/$1-$2.data" && cp "$work/ours" "$KEEP/$1-$2.ours" &&
				cp "$work/theirs" "$KEEP/$1-$2.${names[i]}"; }
		fi
	done
	[ -n "$checked" ] || check_comparison "${options[@]}"
	rm -f "$work/ours.reel"
}

# Tests the comparison itself: with a frame missing or a wrong address in every hundredth trace, it must fail.
check_comparison() {
	local how
	checked=yes
	# shellcheck disable=SC2016 # awk's
	for how in '{ NF-- }' '{ $6 = "1" $6 }'; do
		awk "NR % 100 == 0 && NF > 6 $how { print }" "$work/ours" >"$work/wrong"
		if python3 "$truth/perf_compare.py" "$@" --ours "$work/wrong" --examples 0 >"$work/out" 2>"$work/err"; then
			fail "the comparison does not detect wrong traces: $how"
		elif ! grep -q UNEXPLAINED "$work/out"; then
			fail "the comparison ended without a result: $how"
		else
			passed=$((passed + 1))
		fi
	done
}

# run WORKLOAD MODE
run() {
	local command words status seconds=$SECONDS_OF_CPU
	# A program that perf attaches to runs until it is killed, however long perf takes to start.
	[[ $2 != attach && $2 != pipe ]] || seconds=300
	if ! command=$(SECONDS_OF_CPU=$seconds "$truth/workloads.sh" "$1" 2>"$work/err"); then
		skip "$1: $(tail -n 1 "$work/err")"
		return
	fi
	[ "$2" != newest ] || [ "$newest" -gt 0 ] || { skip "$1 $2: no newest perf"; return; }
	eval "words=($command)"
	record_again "$2" "${words[@]}" || {
		status=$?
		[ $status != 77 ] || { skip "$1 $2: other programs keep recording build-ids"; return; }
		fail "$1 $2: perf record failed with status $status"
		return
	}
	compare "$1" "$2"
}

if [ -n "$quick" ]; then
	for workload in ${WORKLOADS:-exceptions threads recursion ends}; do
		for mode in ${MODES:-kernel}; do run "$workload" "$mode"; done
	done
	[ -n "${WORKLOADS:-}" ] || for mode in compressed pipe fp; do run threads $mode; done
	finish
fi
for workload in ${WORKLOADS:-exceptions recursion threads ends python compile sqlite}; do
	for mode in ${MODES:-user kernel}; do run "$workload" "$mode"; done
done
if [ -z "${WORKLOADS:-}" ]; then
	for workload in exceptions threads; do
		for mode in small compressed pipe exec fp all attach newest; do run $workload $mode; done
	done
fi
finish
