#!/bin/bash
# server.sh SECONDS - postgres under pgbench, redis, and nginx with TLS, at once: the programs of program_list.sh for SECONDS each
set -euo pipefail
sources=$(cd "$(dirname "$0")" && pwd) seconds=$1 work=$(mktemp -d)
export sources
trap 'rm -rf "$work"' EXIT
chmod 711 "$work"
program() {
	case $1 in redis | postgres | nginx-tls) ;; *) return 0 ;; esac
	local lacking folder=$work/$1
	# shellcheck disable=SC2086 # words
	lacking=$(missing $2)
	[ -z "$lacking" ] || { echo "$1 needs $lacking" >&2; exit 77; }
	mkdir "$folder"
	(cd "$folder" && sh -c "$3" && sh -c "$(sed "s/timeout 2/timeout $seconds/; s/-T 2/-T $seconds/" <<<"$4")") >/dev/null 2>&1 &
}
. "$sources/../program_list.sh"
wait
