#!/bin/bash
# server.sh SECONDS - postgres under pgbench, redis, and nginx with TLS, at once: the programs of program_list.sh for SECONDS each
set -euo pipefail
sources=$(cd "$(dirname "$0")" && pwd) seconds=$1 work=$(mktemp -d)
export sources
trap 'rm -rf "$work"' EXIT
chmod 711 "$work"
names=() prepares=() commands=()
program() {
	case $1 in redis | postgres | nginx-tls) ;; *) return 0 ;; esac
	local lacking
	# shellcheck disable=SC2086 # words
	lacking=$(missing $2)
	[ -z "$lacking" ] || { echo "$1 needs $lacking" >&2; exit 77; }
	names+=("$1") prepares+=("$3") commands+=("$(sed "s/timeout 2/timeout $seconds/; s/-T 2/-T $seconds/" <<<"$4")")
}
# shellcheck source=tests/truth/program_list.sh
. "$sources/../program_list.sh"
for i in "${!names[@]}"; do
	mkdir "$work/${names[i]}"
	(cd "$work/${names[i]}" && sh -c "${prepares[i]}" && sh -c "${commands[i]}") >/dev/null 2>&1 &
done
wait
