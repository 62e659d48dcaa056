#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts the page of `make wasm` together: drop.html with `view`'s policy, the module, its worker and their licences.
#   page.sh DROP.HTML VIEW.HTML MODULE.JS LICENCES... >PAGE     MODULE.wasm is beside MODULE.js
set -eu
drop=$1 view=$2 module=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# pack NAME FILE...: as cli/page/web/bytes.js unpacks
pack() {
	name=$1
	shift
	cat "$@" | gzip -9n | base64 >"$work/$name"
}
pack content "${module%.js}.wasm"
pack worker "$module" cli/page/web/drop_worker.js
{
	sed -n "/^stackreel's licence/,\$p" packaging/wasm/npm/README.md
	for file; do
		printf '\n======== %s ========\n\n' "$(basename "$file")"
		cat "$file"
	done
} >"$work/texts"
pack licences "$work/texts"

# `view`'s page runs within this one, and both policies apply.
policy() {
	sed -nE "s/.*[; \"]$1-src ([^;\"]*)[;\"].*/\1/p" "$view" | head -n 1
}
sed -e "s|@VIEW_SCRIPT@|$(policy script)|; s|@VIEW_STYLE@|$(policy style)|; s|@VERSION@|$VERSION|" \
	-e "/^@CONTENT@\$/{r $work/content" -e 'd}' -e "/^@WORKER@\$/{r $work/worker" -e 'd}' -e "/^@LICENCES@\$/{r $work/licences" -e 'd}' "$drop"
