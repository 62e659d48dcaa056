#!/bin/bash
# Makes captures for tests that only read them, so that these need no turn to record. Each is made once, by the first test that asks.
#
#   tests/support/capture.sh LABEL BUILD OPTIONS COMMAND
#
# Prints the folder $O/captures/LABEL. If it is missing, or any argument, a source, a compiler, the recorder or the kernel has changed, makes
# it: BUILD compiles a program, and stackreel-record with OPTIONS writes COMMAND's samples to a.reel there, and its output to `output`. These
# are in the shell's syntax; $dir is the folder. COMMAND has to work for a known time of CPU, since other tests run beside it.
# Exit status 77: not possible here; the reason is on standard error.
# shellcheck disable=SC2154 # eval assigns
set -u
cd "$(dirname "$0")/../.." || exit
O=$(realpath "${O:-build}")
label=$1 dir=$O/captures/$1 recorder=$O/stackreel-record
[ -x "$recorder" ] || { echo "$label: stackreel-record is not built" >&2; exit 77; }
mkdir -p "$O/captures"
exec 9>"$dir.lock"
flock 9 || exit
eval "words=(${2//&&/ })"
key=$(
    printf '%s\n' "${@:2}" "$(uname -r)"
    for word in "$recorder" "${words[@]}"; do
        case $word in
        gcc | g++ | cc | clang | clang++ | rustc) command -v "$word" >/dev/null || { echo "$label: $word is not installed" >&2; exit 77; } && "$word" --version ;;
        go) command -v go >/dev/null || { echo "$label: go is not installed" >&2; exit 77; } && go version ;;
        "$dir"/*) ;;
        *) [ ! -f "$word" ] || sha256sum "$word" ;;
        esac
    done
) || exit
if [ "$(cat "$dir/key" 2>/dev/null)" != "$key" ]; then
    rm -rf "$dir"
    mkdir "$dir"
    eval "$2" >&2 || exit 1
    eval "options=($3) command=($4)"
    timeout 300 "$recorder" -q "${options[@]}" -o "$dir/a.reel" -- "${command[@]}" >"$dir/output" 2>"$dir/err" </dev/null
    status=$?
    if [ ! -s "$dir/a.reel" ]; then
        echo "$label: cannot record (status $status): $(head -n 1 "$dir/err")" >&2
        ! "$recorder" -q -o "$dir/try.reel" -- true 2>/dev/null || exit 1
        exit 77
    fi
    echo "$key" >"$dir/key"
fi
echo "$dir"
