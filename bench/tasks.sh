#!/bin/bash
# What users of profilers do, tried with stackreel, perf, samply and hotspot: prints the table of docs/comparison.md in Markdown.
#
#   bench/tasks.sh [-v] [TASK...]     with -v, standard error has each command and what decided each cell
#
# Each cell comes from commands that run here; "not tried" has its reason in -v's output. The other programs are the newest of Debian sid,
# fetched and started by bench/peers.sh. hotspot is a program with a window: tried are its reading of perf's files (--exportTo) and its
# options; for the rest, the texts of its window are searched. samply demands perf_event_paranoid 1 where there is no cycle counter, also of
# root; it is shown a file that says so. Needs root, BPF, network (the first time), node, a JDK, g++ and some five minutes.
set -u
cd "$(dirname "$0")/.." || exit
O=$(realpath "${O:-build}") sources=$PWD verbose=/dev/null
if [ "${1-}" = -v ]; then verbose=/dev/stderr; shift; fi
wanted=" $* "
work=$(mktemp -d "${TMPDIR:-/var/tmp}/stackreel-tasks.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8 HOME=$work PAGER=cat DEBUGINFOD_URLS='' QT_QPA_PLATFORM=offscreen sources
export STACKREEL_CACHE=${STACKREEL_CACHE:-${XDG_CACHE_HOME:-~root/.cache}/stackreel}

# ---- the programs ------------------------------------------------------------------------------

declare -A command
mkdir "$work/bin"
# program NAME COMMAND: makes it a command. $command has the words to start it without a shell, for an empty root.
program() {
    command[$1]=$2
    printf '#!/bin/bash\n%s\nexec %s "$@"\n' "${3-}" "$2" >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}
fetch() { bench/peers.sh "$1" 2>"$work/err" || { echo "bench/tasks.sh: $(cat "$work/err")" >&2; exit 77; }; }
perf=$(fetch perf-new) && samply=$(fetch samply) && hotspot=$(fetch perfparser) || exit
perf_core=$(sed -E "s/.* ([^ ]*)\/bin\/perf ?$/\1/" <<<"$perf")/lib/perf-core
hotspot_root=$(sed -E "s/.* ([^ ]*)\/usr\/libexec.*/\1/" <<<"$hotspot")
program perf "$perf" "export PERF_EXEC_PATH=$perf_core"
program perfparser "$hotspot"
program hotspot "${hotspot/libexec\/hotspot-perfparser/bin/hotspot}" \
    "export HOTSPOT_PERFPARSER=$work/bin/perfparser QT_PLUGIN_PATH=$(echo "$hotspot_root"/usr/lib/*/qt6/plugins)"
program samply "$samply"
echo 1 >"$work/paranoid"
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 1 ] ||
    printf '#!/bin/bash\nexec unshare -m sh -c '\''mount --bind %s /proc/sys/kernel/perf_event_paranoid && exec %s "$@"'\'' sh "$@"\n' "$work/paranoid" "$samply" >"$work/bin/samply"
export PATH=$work/bin:$O:$PATH

# ---- trying ------------------------------------------------------------------------------------

# try COMMAND: runs it for two minutes at most, with its output in the files out and err.
try() {
    echo "    \$ $1" >&3
    timeout -k 5 "${limit:-120}" bash -o pipefail -c "$1" >out 2>err </dev/null
    local status=$?
    [ $status = 0 ] || echo "      status $status: $(cat err out | grep -v '^ *$' | tail -n 1 | cut -c1-200)" >&3
    return $status
}
because() { echo "      $*" >&3; }
# yes_if PATTERN FILE: the cell is yes if the file has it.
yes_if() {
    local found
    found=$(grep -aE -m 1 -- "$1" "$2" | tr -cd '[:print:]' | cut -c1-160)
    because "'$1' in $2: ${found:-not found}"
    [ -n "$found" ] && echo yes || echo no
}
# lacks PROGRAM PATTERN: no, if neither help nor, for hotspot, the window's texts mention it
lacks() {
    local help="$1 --help; $1 record --help" found
    [ "$1" != hotspot ] || help="hotspot --help-all; strings $hotspot_root/usr/bin/hotspot | grep -vE '^_Z|^[0-9]+[A-Z]'"
    try "{ $help; } 2>&1" || true
    found=$(grep -iE -m 1 -- "$2" out | tr -cd '[:print:]' | cut -c1-160)
    because "'$2' there: ${found:-not found}"
    if [ -n "$found" ]; then window; else echo no; fi
}
window() { because "only in its window or page, which cannot be used from a script"; echo "not tried"; }
percent() { awk -v part="$1" -v all="$2" 'BEGIN { if (!all) { print "-"; exit } p = 100 * part / all; if (p > 99.9 && p < 100) p = 99.9; printf "%.1f", p }' | sed 's/\.0$//'; }
start='(^|;)(main|start|_start|_+libc_start_|_*(GI_+)?clone3?;|start_thread)'
# share PATTERN FOLDED: the percentage of samples whose stack has the pattern
share() {
    local part all
    read -r part all < <(awk -v want="$1" '{ all += $NF } $0 ~ want { part += $NF } END { print part + 0, all + 0 }' "$2")
    because "$part of $all samples have $1"
    percent "$part" "$all"
}

# record TOOL NAME COMMAND, at 999 Hz, as each tool's documentation says. hotspot reads what perf records.
record() {
    case $1 in
    stackreel) try "stackreel-record -q -F 999 -o $2.reel -- $3" ;;
    perf) try "perf record -q -F 999 --call-graph dwarf${4-} -o $2.data -- $3" ;;
    samply) try "samply record --save-only --unstable-presymbolicate -r 999 -o $2.json.gz -- $3" ;;
    hotspot) [ -e "$2.data" ] || record perf "$2" "$3" ;;
    esac
}
# fold TOOL NAME: NAME.TOOL has folded stacks
fold() {
    case $1 in
    stackreel) try "stackreel folded -q $2.reel >$2.$1" ;;
    perf) try "perf script -F comm,ip,sym -i $2.data | python3 $sources/bench/tasks.py perf >$2.$1" ;;
    samply) try "python3 $sources/bench/tasks.py samply $2.json.gz >$2.$1" ;;
    hotspot) try "hotspot --exportTo $2.perfparser $2.data" && try "python3 $sources/bench/tasks.py hotspot $2.perfparser >$2.$1" ;;
    esac
}
tools="stackreel perf samply hotspot"
declare -A title
names=()
# task NAME TITLE: a row. Its cells are functions NAME_TOOL, or NAME with the tool as the argument.
task() { names+=("$1"); title[$1]=$2; }

# shellcheck source=bench/tasks_list.sh
. bench/tasks_list.sh

cd "$work" || exit
exec 3>"$verbose"
g++ -O2 -g -fomit-frame-pointer -o orders "$sources/testdata/programs/orders.cc" &&
    gcc -O2 -g -o till "$sources/tests/programs/till.c" -pthread && gcc -O2 -x c -o token - <<<"$token_program" || exit 1
perf --version >&3
samply --version >&3
hotspot --version >&3
echo "| task | stackreel | perf | samply | hotspot |"
echo "|---|---|---|---|---|"
for name in "${names[@]}"; do
    [ "$wanted" = "  " ] || [[ "$wanted" == *" $name "* ]] || continue
    echo "$name: ${title[$name]}" >&3
    row="| ${title[$name]} |"
    for tool in $tools; do
        echo "  $tool" >&3
        if declare -F "${name}_$tool" >/dev/null; then cell=$("${name}_$tool"); else cell=$("$name" "$tool"); fi
        because "=> $cell"
        row+=" $cell |"
    done
    echo "$row"
done
