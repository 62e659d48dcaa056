#!/bin/bash
# tree.sh SUITE - print a folder with a bare Debian release in which packaging/deps.sh has installed what tests need
#
# Made once by mmdebstrap, then taken from the cache until the lists of packages change or a month has passed. Needs root. The folder is
# shared: mount an overlay on it, or copy it.
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# = 1 ] || usage
suite=$1
arch=$(dpkg --print-architecture 2>/dev/null) || skip "dpkg is not installed"
name=$suite-$(cat "$root/packaging/deps.sh" "$vm/deps.sh" | sha256sum | cut -c1-10)
dir=$STACKREEL_CACHE/tree/$name

# .made is written last: it marks the tree as complete
recent() { [ -n "$(find "$dir/.made" -mtime -30 2>/dev/null)" ]; }
recent || cache_lock "tree-$name"
if ! recent; then
	[ "$(id -u)" = 0 ] || skip "a tree of $suite needs root"
	need mmdebstrap
	# shellcheck disable=SC2016 # apt fills it in
	mirror=$("$vm/apt.sh" "$suite" "$arch" apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages')
	find "${dir%/*}" -mindepth 1 -maxdepth 1 -name "$suite-*" -mtime +1 -exec rm -rf --one-file-system {} + 2>/dev/null || :
	rm -rf --one-file-system "$dir"
	mkdir -p "$dir"
	# shellcheck disable=SC2016 # mmdebstrap passes the folder as $1
	mmdebstrap -q --mode=root --variant=minbase --include=make,ca-certificates \
		--customize-hook='mkdir -p "$1/src/packaging" "$1/src/tests/vm"' \
		--customize-hook="cp '$root/packaging/deps.sh' \"\$1/src/packaging/\"; cp '$vm/deps.sh' \"\$1/src/tests/vm/\"" \
		--customize-hook='chroot "$1" /src/packaging/deps.sh test && rm -r "$1/src"' \
		"$suite" "$dir" "$mirror" >"$dir.log" 2>&1 ||
		{ tail -n 20 "$dir.log" >&2; fail "cannot make a tree of $suite"; }
	rm -f "$dir.log"
	touch "$dir/.made"
fi
touch "$dir"
echo "$dir"
