#!/bin/bash
# The Debian packages: source and binary packages build, lintian reports nothing, and their own tests (debian/tests) pass, including the two
# commands from a program to a flame graph. In CI, as root, the packages are installed and removed again; elsewhere the tests run on
# unpacked files.
# run.sh: thorough makes
# checks: debian packaging docs
. "$(dirname "$0")/../count.sh"
for tool in dh lintian dpkg-buildpackage; do
    command -v $tool >/dev/null || { skip "$tool is not installed (packaging/deps.sh test-all)" && finish; }
done
if ! dpkg-checkbuilddeps 2>/dev/null; then
    skip "$(dpkg-checkbuilddeps 2>&1 | head -n 1)"
    finish
fi
installed=
end() {
    [ -z "$installed" ] || dpkg --purge $installed >/dev/null 2>&1
    rm -rf "$work"
}
trap end EXIT
trap 'exit 1' INT TERM HUP

# Without files built here.
mkdir "$work/stackreel"
tar -c --exclude=./.git --exclude='./build*' . | tar -x -C "$work/stackreel"
version=$(dpkg-parsechangelog -S Version)
ok "the version equals the header's" grep -q "REEL_VERSION_STRING \"$version\"" include/stackreel.h
ok "... and the RPM's" grep -q "^Version: *$version\$" packaging/stackreel.spec
ok "... and the man page's" grep -q "^.TH .*\"stackreel $version\"" docs/man/stackreel.1
build() (cd "$work/stackreel" && DEB_BUILD_OPTIONS="parallel=$(nproc) noautodbgsym noopt" dpkg-buildpackage -us -uc >"$work/build.log" 2>&1) || { tail -n 40 "$work/build.log" && false; }
ok "build the packages" build
[ "$failed" = 0 ] || finish
lint() {
    ! lintian --allow-root --fail-on error,warning,info "$work"/*.changes 2>&1 | grep -v '^N:' | grep .
}
ok "lintian reports nothing" lint
names() { dpkg-deb -f "$1" Depends | tr ',' '\n' | sed -E 's/^ *([^ ]+).*/\1/' | sort | tr '\n' ' '; }
record_needs="$(names "$work"/stackreel-record_*.deb)"
ok "the recorder needs neither libdw nor capstone: $record_needs" test -n "$record_needs" -a "${record_needs/libdw/}" = "$record_needs" -a "${record_needs/libcapstone/}" = "$record_needs"

for package in "$work"/*.deb; do dpkg-deb -x "$package" "$work/root"; done
# Paths of the build folder would make the packages unreproducible in a different folder.
unnamed() { ! grep -rlF "$work/stackreel" "$work/root"; }
ok "no paths of the build folder" unnamed
for program in stackreel stackreel-record; do
    for file in bash-completion/completions/$program zsh/vendor-completions/_$program fish/vendor_completions.d/$program.fish; do
        ok "$file" test -s "$work/root/usr/share/$file"
    done
done

export AUTOPKGTEST_TMP=$work/tmp
mkdir "$AUTOPKGTEST_TMP"
if [ "${CI-}" = true ] && [ "$(id -u)" = 0 ] && [ -z "$(dpkg-query -W -f '${Package}' stackreel 2>/dev/null)" ]; then
    installed="stackreel stackreel-record libstackreel-dev python3-stackreel libstackreel1"
    ok "install the packages" dpkg -i "$work"/*.deb
else
    libraries=$(dirname "$(find "$work/root" -name libstackreel.a)")
    export PATH=$work/root/usr/bin:$PATH LD_LIBRARY_PATH=$libraries PKG_CONFIG_PATH=$libraries/pkgconfig PKG_CONFIG_SYSROOT_DIR=$work/root PYTHONPATH=$work/root/usr/lib/python3/dist-packages
fi
for program in stackreel stackreel-record; do ok "$program --version" $program --version; done
ok "debian/tests/replay" debian/tests/replay
ok "debian/tests/link" debian/tests/link
ok "debian/tests/python" debian/tests/python
(debian/tests/record >"$work/out" 2>&1)
case $? in
0) count 0 "debian/tests/record" ;;
77) skip "debian/tests/record: $(tail -n 1 "$work/out")" ;;
*) sed 's/^/    /' "$work/out" && count 1 "debian/tests/record" ;;
esac
if [ -n "$installed" ]; then
    # shellcheck disable=SC2086 # a list of words
    ok "remove the packages" dpkg --purge $installed
    installed=
fi
finish
