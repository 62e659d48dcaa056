#!/bin/bash
# make-debs.sh SUITE COMMIT FOLDER - build a commit's Debian packages as sbuild does: from its source package, in a bare release with nothing
# but the build dependencies, without network, as a user without rights. FOLDER receives the packages, build.log and tree (the tree's folder).
set -euo pipefail
cd "$(dirname "$0")/../.."
suite=$1 commit=$2 folder=$(realpath -m "$3")
work=$(mktemp -d "${TMPDIR:-/var/tmp}/reel.XXXXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM HUP

# What sbuild installs: Build-Depends without versions and qualifiers.
needs=$(git show "$commit:debian/control" | sed -n '/^Build-Depends:/,/^[^ B]/{s/^Build-Depends://;/^[^ ]/d;p}' | tr ',' '\n' | sed -E 's/[:(].*//' | sort)
# shellcheck disable=SC2086 # a list of words
tree=$(tests/vm/tree.sh "$suite" build-essential lintian blhc $needs)
mkdir -p "$work/src" "$folder"
git archive --prefix=stackreel/ "$commit" | tar -x --no-same-owner -C "$work/src"
cat >"$work/src/steps" <<'END'
set -eux
(cd stackreel && dpkg-source -b .)
mkdir build
cd build
dpkg-source --no-check -x ../*.dsc stackreel
cd stackreel
dpkg-buildpackage -us -uc
END
chown -R 1000:1000 "$work/src"
status=0
tests/vm/inside.sh -n "$tree" "$work" setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/nonexistent \
    DEB_BUILD_OPTIONS="parallel=$(nproc) noautodbgsym ${DEB_BUILD_OPTIONS-}" DPKG_GENSYMBOLS_CHECK_LEVEL=4 sh steps >"$folder/build.log" 2>&1 || status=$?
[ $status = 0 ] || { tail -n 30 "$folder/build.log" >&2 && exit $status; }
rm -f "$folder"/stackreel_* "$folder"/*.deb
find "$work/src/build" -maxdepth 1 -type f -exec cp {} "$folder/" \;
echo "$tree" >"$folder/tree"
