#!/bin/bash
# The RPMs: packaging/stackreel.spec builds them, and rpmlint finds no error in it and in them. Where rpm is not the system's (Debian has both
# programs), this takes the macros that only Fedora has from here, and rpm cannot check dependencies.
. "$(dirname "$0")/../../tests/count.sh"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
for tool in rpmbuild rpmlint; do
    command -v $tool >/dev/null || { skip "$tool is not installed (docs/release.md)" && finish; }
done
options=(--define "_topdir $work/rpm" --define "debug_package %{nil}")
if ! rpm -q rpm >/dev/null 2>&1; then
    options+=(--nodeps --define "_unitdir /usr/lib/systemd/system" --define "python3_sitelib /usr/lib/python3/site-packages" --define "systemd_post :" --define "systemd_preun :" --define "systemd_postun :")
fi
mkdir "$work/src" "$work/rpm"
git archive HEAD | tar -x -C "$work/src"
(cd "$work/src" && rpmbuild -bb --build-in-place "${options[@]}" packaging/stackreel.spec) >"$work/log" 2>&1
status=$?
[ $status = 0 ] || tail -n 30 "$work/log"
count $status "rpmbuild"
mapfile -t rpms < <(find "$work/rpm/RPMS" -name '*.rpm' 2>/dev/null | sort)
echo "${rpms[@]##*/}"
[ ${#rpms[@]} = "$(grep -c '^%files' packaging/stackreel.spec)" ]
count $? "a package for each %files"
# What Fedora does not ask for, and what Debian's rpm does to libraries: it clears their execute bits.
for tag in lib-package-without-%mklibname no-group-tag no-packager-tag no-signature outside-libdir-files library-without-ldconfig missing-hash-section \
    no-dependency-on shared-library-not-executable; do
    echo "addFilter(\" $tag\")"
done >"$work/rpmlintrc"
rpmlint -r "$work/rpmlintrc" packaging/stackreel.spec "${rpms[@]}" >"$work/out" 2>&1
grep -E ': [EW]: ' "$work/out"
grep -qE ' 0 errors' "$work/out" && ! grep -qE ': E: ' "$work/out"
count $? "rpmlint: $(tail -n 1 "$work/out")"
finish
