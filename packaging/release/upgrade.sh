#!/bin/bash
# upgrade.sh [SUITE] - the packages replace the previous version in a bare release (bookworm), and keep its configuration.
#
#   PREVIOUS=COMMIT   the previous version: the tag of debian/changelog's second entry, else the commit that added this entry
. "$(dirname "$0")/../../tests/count.sh"
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM HUP
[ "$(id -u)" = 0 ] || { skip "mounts need root" && finish; }
suite=${1:-bookworm}
version=$(dpkg-parsechangelog -S Version)
old=$(dpkg-parsechangelog -o 1 -c 1 -S Version)
previous=${PREVIOUS:-$([ -z "$old" ] || git rev-parse -q --verify "v$old^{commit}" || git log --reverse --format=%h -S"stackreel ($old)" -- debian/changelog | head -n 1)}
[ -z "${PREVIOUS-}" ] || old=$(git show "$previous:debian/changelog" | dpkg-parsechangelog -l - -S Version)
if [ -z "$previous" ] || dpkg --compare-versions "$old" ge "$version"; then
    skip "no version before $version in debian/changelog and this clone (PREVIOUS=COMMIT)" && finish
fi
folder=$(realpath -m "$O/release/$suite")
# built FOLDER COMMIT
built() {
    packaging/release/make-debs.sh "$suite" "$2" "$1" >"$work/log" 2>&1
    case $? in
    0) ;;
    77) skip "$suite: $(tail -n 1 "$work/log")" && finish ;;
    *) sed 's/^/    /' "$work/log" && count 1 "build $2" && finish ;;
    esac
}
[ -e "$folder/stackreel_${version}_$(dpkg --print-architecture).deb" ] || built "$folder" HEAD
DEB_BUILD_OPTIONS=noopt built "$work/old" "$previous"
mkdir -p "$work/src/old" "$work/src/new"
cp "$work"/old/*.deb "$work/src/old/"
cp "$folder"/*.deb "$work/src/new/"
bare=$(tests/vm/tree.sh "$suite" apt)
cat >"$work/src/steps" <<'END'
set -eux
apt-get update -q
apt-get install -y -q --no-install-recommends ./old/*.deb
stackreel --version | grep -qw "$1"
mkdir -p /etc/stackreel
printf '\n# changed here\n' >>/etc/stackreel/recorder.conf
apt-get install -y -q --no-install-recommends -o Dpkg::Options::=--force-confdef ./new/*.deb
dpkg --audit
apt-get check
stackreel --version | grep -qw "$2"
stackreel-record --version | grep -qw "$2"
[ "$(dpkg-query -W -f '${Version}' stackreel-record)" = "$2" ]
grep -q 'changed here' /etc/stackreel/recorder.conf
END
tests/vm/inside.sh "$bare" "$work" sh steps "$old" "$version" >"$work/out" 2>&1
status=$?
[ $status = 0 ] || tail -n 30 "$work/out"
count $status "$suite: from $old ($previous) to $version"
finish
