#!/bin/bash
# tree.sh SUITE [PACKAGE...] - print a folder with a bare Debian or Ubuntu release and these packages, without recommended ones; without
# PACKAGE, those that packaging/deps.sh installs for tests
#
# Made once by mmdebstrap, then taken from the cache until the lists of packages change or a month has passed. Needs root. The folder is
# shared: inside.sh runs commands on a copy.
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# -ge 1 ] || usage
suite=$1
shift
arch=$(dpkg --print-architecture 2>/dev/null) || skip "dpkg is not installed"
name=$suite-$({ [ $# = 0 ] && cat "$root/packaging/deps.sh" "$vm/deps.sh" || echo "$@"; } | sha256sum | cut -c1-10)
dir=$STACKREEL_CACHE/tree/$name

# .made is written last: it marks the tree as complete
recent() { [ -n "$(find "$dir/.made" -mtime -30 2>/dev/null)" ]; }
recent || cache_lock "tree-$name"
if ! recent; then
	[ "$(id -u)" = 0 ] || skip "a tree of $suite needs root"
	need mmdebstrap
	"$vm/apt.sh" "$suite" "$arch" apt-get indextargets >/dev/null
	source=$(cat "$STACKREEL_CACHE/apt/$suite-$arch/etc/apt/sources.list")
	find "${dir%/*}" -mindepth 1 -maxdepth 1 -name "$suite-*" -mtime +1 -exec rm -rf --one-file-system {} + 2>/dev/null || :
	rm -rf --one-file-system "$dir"
	mkdir -p "$dir"
	# shellcheck disable=SC2016 # mmdebstrap passes the folder as $1
	if [ $# = 0 ]; then
		options=(--include=make,ca-certificates --customize-hook='mkdir -p "$1/src/packaging" "$1/src/tests/vm"'
			--customize-hook="cp '$root/packaging/deps.sh' \"\$1/src/packaging/\"; cp '$vm/deps.sh' \"\$1/src/tests/vm/\""
			--customize-hook='chroot "$1" /src/packaging/deps.sh test && rm -r "$1/src"')
	else
		options=(--include="$*")
	fi
	# shellcheck disable=SC2016 # as above
	mmdebstrap -q --mode=root --variant=minbase --aptopt='APT::Install-Recommends "false"' --dpkgopt=force-unsafe-io "${options[@]}" \
		--customize-hook='sed -i "s|signed-by=[^ ]*/usr/share/|signed-by=/usr/share/|" "$1/etc/apt/sources.list"' \
		"$suite" "$dir" "$source" >"$dir.log" 2>&1 ||
		{ tail -n 20 "$dir.log" >&2; fail "cannot make a tree of $suite"; }
	rm -f "$dir.log"
	touch "$dir/.made"
fi
touch "$dir"
echo "$dir"
