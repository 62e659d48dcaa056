#!/bin/bash
# Runs the tests and adds up what every runner counted.
#
#   tests/run.sh            the quick tests: unit tests and tests/*/test{,-*}.{sh,py}, except thorough ones (see below)
#   tests/run.sh --all      the quick tests, then the thorough ones
#   tests/run.sh --changed [BASE]   thorough tests: what has changed can break them since each one passed (tests/passed) or since
#                           commit BASE, and a share of the others in turn (tests/plan.py)
#   tests/run.sh --unit     only the unit tests
#   tests/run.sh NAME...    only runners whose path contains one of NAME, including thorough ones:
#                           test-record.sh, or record/ for all tests of that folder
#   tests/run.sh --costs    prints the cost of each runner in the last run, from $O/costs
#   --remember              first: when a thorough runner passes as a whole, keeps that in tests/passed
#   -j N, JOBS=N            run N runners in parallel (default: one more than there are CPUs, since many wait); 1 runs them in order
#   O=DIR                   the object directory (build)
#   EMULATOR=COMMAND        runs unit tests that were built for another CPU
#   LIMIT=45m               time limit for one runner, in timeout(1)'s format; a runner that exceeds it fails
#
# A unit test is a cmocka program.  A script counts its own cases and ends with the line
# `N passed, N failed, N skipped`; each skip prints its reason.  A script without that line counts as one failure.
#
# A script declares what it cannot share, and when it should start, in a line `# run.sh: WORD...`:
#   records   samples this machine: only one of these runs at a time, and other runners yield the CPUs to it
#   guests    boots guests and builds for them in $O/vm-* and $O/static: one at a time
#   makes     may build in $O: one at a time
#   long      starts before others
#   thorough  takes minutes, or checks in more detail than needed after a build: `make test-all`
#   shares    can do a part of its work: with SHARE=K/N the items whose number is K modulo N (in_share), with AFFECTED=FILE those that
#             concern the sources in the file (affected)
#   longer    checks more with LONG=1; --changed also runs a share of that, as SCRIPT@long
# A thorough script names what it checks in a line `# checks: WORD...` (tests/plan.py).
#
# Runners that record or boot guests can fail because the machine is too busy, even with our other tests. Such a runner is repeated alone at
# the end. The repeated run counts, and both runs are reported.
#
# The last lines list the slowest runners. $O/costs has a line for each: wall and CPU seconds, counts, and why it ran.
set -u
cd "$(dirname "$0")/.." || exit
export O=${O:-build}
passed=0 failed=0 skipped=0 times=()
work=$(mktemp -d) || exit
# Receives the id and the exit status of each runner that ends. `wait -n` can miss one: bash 5.2 may already have forgotten it
# (cleanup_dead_jobs).
mkfifo "$work/ended" && exec 3<>"$work/ended" || exit

usage() {
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' tests/run.sh
}

# ---- selecting runners ----------------------------------------------------------------------------------

wanted() {
    local name=$1 only
    shift
    [ $# = 0 ] && return 0
    for only; do [[ $name == *"$only"* ]] && return 0; done
    return 1
}

# Runners in listing order; runners to repeat alone. By runner: its marks, the share that it does, and why it runs.
runners=() again=() flaky=()
declare -A marks=() share=() why=()

# add_runner FILE MARKS SHARE WHY
add_runner() {
    local mark
    for mark in $2; do
        case $mark in
        records | guests | makes | long | thorough | shares | longer) ;;
        *) echo "$1: unknown mark 'run.sh: $mark'" >&2 && exit 2 ;;
        esac
    done
    runners+=("$1")
    marks[$1]=$2 share[$1]=$3 why[$1]=$4
}

marks_of() { sed -n 's/^# run\.sh: //p' "${1%@long}"; }

is_unit() { [[ $1 != tests/* ]]; }

name_of() {
    if is_unit "$1"; then echo "${1#"$O/tests/"}"; else echo "${1#tests/}"; fi
}

list_units() {
    local program
    # Programs lie in the same folders as their sources.
    while read -r program; do
        wanted "$(name_of "$program")" "$@" && add_runner "$program" "" all quick
    done < <(find "$O/tests/unit" -mindepth 2 -type f -executable 2>/dev/null | sort)
}

# list_scripts WHICH [NAME...]: WHICH is quick, thorough, or any.
list_scripts() {
    local which=$1 script words is
    shift
    for script in tests/*/test-*.sh tests/*/test-*.py tests/*/test.sh; do
        [ -f "$script" ] || continue
        words=$(marks_of "$script")
        is=quick
        case " $words " in *" thorough "*) is=thorough ;; esac
        [ "$which" = any ] || [ "$which" = $is ] || continue
        wanted "$(name_of "$script")" "$@" && add_runner "$script" "$words" all $is
    done
}

# list_changed [BASE]: what tests/plan.py chooses
list_changed() {
    local script part reason
    mkdir "$work/affected"
    tests/plan.py --affected "$work/affected" "$@" >"$work/plan" || exit 2
    while IFS=$'\t' read -r script part reason; do
        [ "$part" = later ] || add_runner "$script" "$(marks_of "$script")" "$part" "$reason"
    done <"$work/plan"
    awk -F'\t' '$2 == "later" { sub(/^tests\//, "", $1); names = names " " $1; n++ }
        END { if (n) printf "%d runners that a change can break wait for a later commit or `make test-all`:%s\n", n, names }' "$work/plan"
    grep -v $'\tlater\t' "$work/plan" | cut -f3 | sed -E 's/^turn /in &/; t; s/.*/by a change/' | sort | uniq -c | sed -E 's/^ *([0-9]+) /\1 runners /'
}

# first_things_first: sorts $runners. Runners that must take turns need the most time together, so they start first.
first_things_first() {
    local runner sorted=() turns=() rest=()
    for runner in "${runners[@]}"; do
        case " ${marks[$runner]} " in
        *" long "*) sorted+=("$runner") ;;
        *" records "* | *" guests "*) turns+=("$runner") ;;
        *) rest+=("$runner") ;;
        esac
    done
    runners=("${turns[@]}" "${sorted[@]}" "${rest[@]}")
}

# ---- running ----------------------------------------------------------------------------------------

# By process id: the runner, its output file and its start time. By mark: the process id that holds it.
declare -A running=() output=() since=() taken=()
n_started=0

# nice_value MARKS: recording has priority. A larger value would starve the others beside a busy host's programs.
nice_value() {
    [ "$jobs" -gt 1 ] || { echo 0 && return; }
    case " $1 " in
    *" records "*) echo 0 ;;
    *) echo 5 ;;
    esac
}

# start RUNNER
start() {
    local runner=$1 command=() mark to=$work/$((++n_started))
    case ${share[$1]} in
    */*/*) command+=(AFFECTED="${share[$1]#affected=}") ;;
    */*) command+=(SHARE="${share[$1]}") ;;
    esac
    [[ $runner != *@long ]] || command+=(LONG=1)
    # shellcheck disable=SC2206 # a command with its arguments
    ! is_unit "$runner" || command+=(CMOCKA_MESSAGE_OUTPUT=TAP ${EMULATOR-})
    command=(env "${command[@]}" "${runner%@long}")
    # Job control gives the runner its own process group. Without it, a script's `&` would start it with SIGINT ignored.
    {
        set -m
        nice -n "$(nice_value "${marks[$runner]}")" timeout -k 10 "$limit" "${command[@]}" >>"$to" 2>&1 3>&- &
        wait $!
        status=$?
        times >"$to.times"
        echo "$BASHPID $status" >&3
    } 2>>"$to" </dev/null &
    running[$!]=$runner output[$!]=$to since[$!]=$SECONDS
    for mark in ${marks[$runner]}; do
        case $mark in long | thorough | shares | longer) ;; *) taken[$mark]=$! ;; esac
    done
}

# may_start RUNNER
may_start() {
    local mark
    for mark in ${marks[$1]}; do
        [ -z "${taken[$mark]-}" ] || return 1
    done
}

# count_unit LOG: appends the summary line that a script would have printed.
count_unit() {
    # cmocka 1.1 writes `not ok N # SKIP NAME'
    sed -E -i 's/^(not )?ok [0-9]+ .*# SKIP/skip:/' "$1"
    echo "$(grep -cE '^ok ' "$1") passed, $(grep -cE '^not ok ' "$1") failed, $(grep -c '^skip:' "$1") skipped" >>"$1"
}

# may_pass_alone RUNNER: whether the runner might pass when run alone. What unit tests, fuzzers and sanitizers find once is a fault.
may_pass_alone() {
    [ "$jobs" -gt 1 ] && ! is_unit "$1" || return 1
    case $1 in */fuzz/* | */test-tsan.sh* | */test-sanitizers.sh*) return 1 ;; esac
}

# cpu_seconds FILE: the CPU seconds of a runner and its children, from the output of `times`.
cpu_seconds() {
    awk 'NR == 2 { split($1 "m" $2, t, "m"); printf "%d", t[1] * 60 + t[2] + t[3] * 60 + t[4] }' "$1"
}

# add RUNNER STATUS SECONDS LOG: adds up the counts in the log.
add() {
    local name status=$2 seconds=$3 log=$4 counts p f s cpu
    name=$(name_of "$1")
    counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$log" | tail -n 1)
    read -r p f s _ < <(sed -E 's/[^0-9]+/ /g' <<<"${counts:-0 0 0} 0")
    if [ "$status" != 0 ] && [ "$f" = 0 ]; then
        f=1
        if [ "$status" = 124 ]; then echo "$name: timed out after $limit"; else echo "$name: exit status $status"; fi
    elif [ "$((p + f + s))" = 0 ] && [ "${share[$1]}" = all ]; then
        f=1
        echo "$name: no tests ran"
    fi
    if [ "$f" != 0 ] || [ "$status" != 0 ]; then
        sed 's/^/    /' "$log"
    else
        grep -iE '^skip' "$log" | sed 's/^/    /'
    fi
    if [ "$f" != 0 ] && may_pass_alone "$1"; then
        again+=("$1")
        echo "$name: failed while other tests ran, after $seconds s; will be run again alone"
        return
    fi
    [ "$f" != 0 ] || [[ " ${again[*]} " != *" $1 "* ]] || flaky+=("$name")
    cpu=$(cpu_seconds "$log.times")
    printf '%-34s %5d passed, %d failed, %d skipped, %d s (%d s of CPU)\n' "$name" "$p" "$f" "$s" "$seconds" "$cpu"
    [ -z "$costs" ] || printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$name" "$seconds" "$cpu" "$p" "$f" "$s" "${share[$1]}" "$commit" "${why[$1]}" >>"$costs"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    times+=("$seconds s $name")
}

# print_costs: the table of the last run, most expensive first, and its sums
print_costs() {
    [ -f "$O/costs" ] || { echo "run.sh: $O/costs is missing; run tests first" >&2 && exit 2; }
    printf '%6s %6s %7s %7s %7s  %-38s %s\n' CPU,s wall,s passed failed skipped runner why
    tail -n +2 "$O/costs" | sort -t$'\t' -k3,3nr -k1,1 | awk -F'\t' '
        { printf "%6d %6d %7d %7d %7d  %-38s %s\n", $3, $2, $4, $5, $6, $1, $9; cpu += $3; wall += $2; p += $4; f += $5; s += $6 }
        END { printf "%6d %6d %7d %7d %7d  %d runners\n", cpu, wall, p, f, s, NR }'
}

# longest: the slowest runners, in one line.
longest() {
    local list
    list=$(printf '%s\n' "${times[@]}" | sort -rn | head -n 8 | paste -sd, | sed 's/,/, /g')
    echo "$SECONDS s; longest: $list"
}

# collect: waits until a runner ends, and prints its results.
collect() {
    local pid status runner mark
    read -r pid status <&3
    runner=${running[$pid]}
    is_unit "$runner" && count_unit "${output[$pid]}"
    add "$runner" "$status" $((SECONDS - since[$pid])) "${output[$pid]}"
    rm -f "${output[$pid]}" "${output[$pid]}.times"
    unset "running[$pid]"
    for mark in "${!taken[@]}"; do
        [ "${taken[$mark]}" != "$pid" ] || unset "taken[$mark]"
    done
}

run_all() {
    local waiting=("${runners[@]}") i
    while [ $((${#waiting[@]} + ${#running[@]})) -gt 0 ]; do
        for i in "${!waiting[@]}"; do
            [ ${#running[@]} -lt "$jobs" ] || break
            if may_start "${waiting[i]}"; then
                start "${waiting[i]}"
                unset "waiting[i]"
            fi
        done
        collect
    done
}

# ---- interrupts --------------------------------------------------------------------------------

# family PID...: these processes and all their descendants. Some descendants have their own process groups (timeout).
family() {
    ps -eo pid=,ppid= | awk -v roots="$*" '
        { parent[$1] = $2 }
        END {
            n = split(roots, root, " ")
            for (i = 1; i <= n; i++) in_family[root[i]] = 1
            for (more = 1; more;) {
                more = 0
                for (pid in parent)
                    if (!in_family[pid] && in_family[parent[pid]])
                        more = in_family[pid] = 1
            }
            for (pid in in_family) if (in_family[pid]) print pid
        }'
}

# end STATUS: terminates all runners, with some time to clean up.
end() {
    local all pid
    trap '' INT TERM HUP
    if [ ${#running[@]} -gt 0 ]; then
        mapfile -t all < <(family "${!running[@]}")
        # Do not signal timeout(1): it would pass the signal on, and a script that cleans up would get it twice. timeout ends with its
        # child.
        ps -o pid=,comm= -p "$(IFS=, && echo "${all[*]}")" | awk '$2 != "timeout" { print $1 }' | xargs -r kill -TERM 2>/dev/null
        for _ in {1..50}; do
            kill -0 "${all[@]}" 2>/dev/null || break
            sleep 0.1
        done
        kill -KILL "${all[@]}" 2>/dev/null
        wait
        for pid in "${!running[@]}"; do echo "$(name_of "${running[$pid]}"): terminated" >&2; done
    fi
    exit "$1"
}
trap 'rm -rf "$work"' EXIT
trap 'end 129' HUP
trap 'end 130' INT
trap 'end 143' TERM

limit=${LIMIT:-45m}
cpus=$(nproc)
jobs=${JOBS:-$((cpus > 1 ? cpus + 1 : 1))}
costs=$O/costs commit=$(git rev-parse --short=12 HEAD 2>/dev/null) remember=
case ${1-} in
-j) jobs=${2-} && shift $(($# > 1 ? 2 : 1)) ;;
-j*) jobs=${1#-j} && shift ;;
esac
[[ $jobs =~ ^[1-9][0-9]{0,3}$ ]] || { echo "run.sh: invalid number of runners '$jobs'" >&2 && exit 2; }
[ "${1-}" != --remember ] || { remember=yes && shift; }
case ${1-} in
-h | --help) usage && exit ;;
--costs) print_costs; exit ;;
# Called by other runners: their costs are counted there.
--unit) list_units && costs= ;;
--all) list_units; list_scripts quick ;;
--changed) list_changed "${@:2}" ;;
-*) usage >&2 && exit 2 ;;
"") list_units; list_scripts quick ;;
*) list_units "$@"; list_scripts any "$@"; [ -n "$remember" ] || costs= ;;
esac
[ "$jobs" = 1 ] || first_things_first
if [ "${1-}" = --all ]; then
    quick=("${runners[@]}") runners=()
    list_scripts thorough
    [ "$jobs" = 1 ] || first_things_first
    runners=("${quick[@]}" "${runners[@]}")
fi
if [ -n "$costs" ]; then
    # --changed goes on after the quick tests.
    kept=$([ "${1-}" != --changed ] || grep -P '\tquick$' "$costs" 2>/dev/null)
    mkdir -p "$O" && printf '%s\n' "$(printf 'runner\twall\tCPU\tpassed\tfailed\tskipped\tshare\tcommit\twhy')" ${kept:+"$kept"} >"$costs"
fi
run_all
if [ ${#again[@]} -gt 0 ]; then
    runners=("${again[@]}") jobs=1
    run_all
    echo "${#again[@]} failed while other tests ran and ran again alone; ${#flaky[@]} flaky (passed then): ${flaky[*]:-none}"
fi
[ ${#times[@]} = 0 ] || longest
[ -z "$costs" ] || print_costs | tail -n 1 | sed -E 's/^ *([0-9]+) .* ([0-9]+ runners)$/\1 s of CPU by \2; tests\/run.sh --costs lists them/'
[ -z "$remember" ] || tests/plan.py --remember "$costs"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
