#!/bin/bash
# Runs the tests and adds up what every runner counted.
#
#   tests/run.sh            unit tests and tests/*/test{,-*}.{sh,py}, except thorough ones (see below)
#   tests/run.sh --thorough only the thorough ones
#   tests/run.sh --unit     only the unit tests
#   tests/run.sh NAME...    only runners whose path contains one of NAME, including thorough ones:
#                           test-record.sh, or record/ for all tests of that folder
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
#
# Runners that record or boot guests can fail because the machine is too busy, even with our other tests. Such a runner is repeated alone at
# the end. The repeated run counts, and both runs are reported.
#
# The last lines list the slowest runners.
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

# Runners in listing order; runners to repeat alone; each runner's marks.
runners=() again=() flaky=()
declare -A marks=()

# add_runner FILE MARKS
add_runner() {
    local mark
    for mark in $2; do
        case $mark in
        records | guests | makes | long | thorough) ;;
        *) echo "$1: unknown mark 'run.sh: $mark'" >&2 && exit 2 ;;
        esac
    done
    runners+=("$1")
    marks[$1]=$2
}

is_unit() { [[ $1 != tests/* ]]; }

name_of() {
    if is_unit "$1"; then echo "${1#"$O/tests/"}"; else echo "${1#tests/}"; fi
}

list_units() {
    local program
    # Programs lie in the same folders as their sources.
    while read -r program; do
        wanted "$(name_of "$program")" "$@" && add_runner "$program" ""
    done < <(find "$O/tests/unit" -mindepth 2 -type f -executable 2>/dev/null | sort)
}

# list_scripts WHICH [NAME...]: WHICH is quick, thorough, or any.
list_scripts() {
    local which=$1 script words is
    shift
    for script in tests/*/test-*.sh tests/*/test-*.py tests/*/test.sh; do
        [ -f "$script" ] || continue
        words=$(sed -n 's/^# run\.sh: //p' "$script")
        is=quick
        case " $words " in *" thorough "*) is=thorough ;; esac
        [ "$which" = any ] || [ "$which" = $is ] || continue
        wanted "$(name_of "$script")" "$@" && add_runner "$script" "$words"
    done
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

# nice_value MARKS: recording has priority, and emulated machines have priority over plain computation.
nice_value() {
    [ "$jobs" -gt 1 ] || { echo 0 && return; }
    case " $1 " in
    *" records "*) echo 0 ;;
    *" guests "*) echo 5 ;;
    *) echo 15 ;;
    esac
}

# start RUNNER
start() {
    local runner=$1 command=("$1") mark to=$work/$((++n_started))
    # shellcheck disable=SC2206 # a command with its arguments
    is_unit "$runner" && command=(env CMOCKA_MESSAGE_OUTPUT=TAP ${EMULATOR-} "$runner")
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
        case $mark in long | thorough) ;; *) taken[$mark]=$! ;; esac
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

# was_beside_others RUNNER: whether the runner might pass when run alone
was_beside_others() {
    [ "$jobs" -gt 1 ] && [[ " ${marks[$1]} " == *" records "* || " ${marks[$1]} " == *" guests "* ]]
}

# cpu_seconds FILE: the CPU seconds of a runner and its children, from the output of `times`.
cpu_seconds() {
    awk 'NR == 2 { split($1 "m" $2, t, "m"); printf "%d", t[1] * 60 + t[2] + t[3] * 60 + t[4] }' "$1"
}

# add RUNNER STATUS SECONDS LOG: adds up the counts in the log.
add() {
    local name status=$2 seconds=$3 log=$4 counts p f s
    name=$(name_of "$1")
    counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$log" | tail -n 1)
    read -r p f s _ < <(sed -E 's/[^0-9]+/ /g' <<<"${counts:-0 0 0} 0")
    if [ "$status" != 0 ] && [ "$f" = 0 ]; then
        f=1
        if [ "$status" = 124 ]; then echo "$name: timed out after $limit"; else echo "$name: exit status $status"; fi
    elif [ "$((p + f + s))" = 0 ]; then
        f=1
        echo "$name: no tests ran"
    fi
    if [ "$f" != 0 ] || [ "$status" != 0 ]; then
        sed 's/^/    /' "$log"
    else
        grep -iE '^skip' "$log" | sed 's/^/    /'
    fi
    if [ "$f" != 0 ] && was_beside_others "$1"; then
        again+=("$1")
        echo "$name: failed while other tests ran, after $seconds s; will be run again alone"
        return
    fi
    [ "$f" != 0 ] || [[ " ${again[*]} " != *" $1 "* ]] || flaky+=("$name")
    printf '%-34s %5d passed, %d failed, %d skipped, %d s (%d s of CPU)\n' "$name" "$p" "$f" "$s" "$seconds" "$(cpu_seconds "$log.times")"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    times+=("$seconds s $name")
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
case ${1-} in
-j) jobs=${2-} && shift $(($# > 1 ? 2 : 1)) ;;
-j*) jobs=${1#-j} && shift ;;
esac
[[ $jobs =~ ^[1-9][0-9]{0,3}$ ]] || { echo "run.sh: invalid number of runners '$jobs'" >&2 && exit 2; }
case ${1-} in
-h | --help) usage && exit ;;
--unit) list_units ;;
--thorough) list_scripts thorough ;;
-*) usage >&2 && exit 2 ;;
"") list_units; list_scripts quick ;;
*) list_units "$@"; list_scripts any "$@" ;;
esac
[ "$jobs" = 1 ] || first_things_first
run_all
if [ ${#again[@]} -gt 0 ]; then
    runners=("${again[@]}") jobs=1
    run_all
    echo "${#again[@]} failed while other tests ran and ran again alone; ${#flaky[@]} flaky (passed then): ${flaky[*]:-none}"
fi
[ ${#times[@]} = 0 ] || longest
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
