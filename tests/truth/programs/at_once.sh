#!/bin/bash
# at_once.sh SECONDS NAME... - these programs of program_list.sh at once, each for SECONDS: again and again, if one ends earlier
set -euo pipefail
sources=$(cd "$(dirname "$0")" && pwd) seconds=$1 work=$(mktemp -d)
shift
wanted=" $* "
export sources
trap 'rm -rf "$work"' EXIT
chmod 711 "$work"
names=() prepares=() commands=()
program() {
	[[ $wanted = *" $1 "* ]] || return 0
	local lacking
	# shellcheck disable=SC2086 # words
	lacking=$(missing $2)
	[ -z "$lacking" ] || { echo "$1 needs $lacking" >&2; exit 77; }
	names+=("$1") prepares+=("$3") commands+=("$(sed "s/timeout [23]/timeout $seconds/; s/-T 2/-T $seconds/" <<<"$4")")
}
# shellcheck source=tests/truth/program_list.sh
. "$sources/../program_list.sh"
[ ${#names[@]} = $# ] || { echo "not all of these are in program_list.sh: $*" >&2; exit 1; }
processes=()
for i in "${!names[@]}"; do
	mkdir "$work/${names[i]}"
	(
		cd "$work/${names[i]}"
		sh -c "${prepares[i]}"
		while [ $SECONDS -lt "$seconds" ]; do sh -c "${commands[i]}" || true; done
	) >/dev/null 2>&1 &
	processes+=($!)
done
for i in "${!names[@]}"; do
	wait "${processes[i]}" || { echo "${names[i]}: its input could not be made" >&2; exit 1; }
done
