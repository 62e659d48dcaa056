#!/bin/bash
# debs.sh [SUITE...] - Debian's packages on these releases (bookworm trixie noble): they build as make-debs.sh describes, lintian finds no
# error and blhc no missing hardening flag; they install and go again in a bare tree, and debian/tests pass there. The packages stay in
# $O/release/SUITE.
. "$(dirname "$0")/../../tests/count.sh"
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM HUP
[ "$(id -u)" = 0 ] || { skip "mounts need root" && finish; }
[ $# -gt 0 ] || set -- bookworm trixie noble
version=$(dpkg-parsechangelog -S Version)
for suite; do
    folder=$(realpath -m "$O/release/$suite") status=0
    packaging/release/make-debs.sh "$suite" HEAD "$folder" >"$work/log" 2>&1 || status=$?
    if [ $status = 77 ]; then
        skip "$suite: $(tail -n 1 "$work/log")" && continue
    fi
    [ $status = 0 ] || sed 's/^/    /' "$work/log"
    count $status "$suite: build without network"
    [ $status = 0 ] || continue
    echo "$suite: $(cd "$folder" && ls ./*.deb | xargs)"
    tree=$(cat "$folder/tree")
    bare=$(tests/vm/tree.sh "$suite" apt) && tester=$(tests/vm/tree.sh "$suite" autopkgtest dpkg-dev)
    count $? "$suite: a bare tree, and one with autopkgtest"
    for kind in build bare tester; do mkdir -p "$work/$suite/$kind/src" && cp "$folder"/*stackreel* "$folder/build.log" "$work/$suite/$kind/src/"; done
    # in_tree NAME KIND TREE COMMAND...
    in_tree() {
        local name=$1 kind=$2 tree=$3 status
        shift 3
        tests/vm/inside.sh "$tree" "$work/$suite/$kind" "$@" >"$work/out" 2>&1
        status=$?
        [ $status = 0 ] || tail -n 30 "$work/out"
        count $status "$suite: $name (status $status)"
    }
    in_tree "lintian finds no error" build "$tree" sh -c 'lintian --allow-root --fail-on error --tag-display-limit 0 --suppress-tags bad-distribution-in-changes-file ./*.changes'
    grep -E '^[EWI]: ' "$work/out" | sed "s/^/$suite: lintian: /"
    # gcc makes PIE by default (--debian). Programs for BPF are not code of this CPU, and assembly has only data.
    in_tree "blhc finds all hardening flags" build "$tree" blhc --all --debian --ignore-line '.* -target bpf.*' --ignore-line '.*\.S' build.log
    # shellcheck disable=SC2016 # expanded in the tree
    in_tree "install in a bare tree" bare "$bare" sh -c 'apt-get update -q && apt-get install -y -q --no-install-recommends ./*.deb && dpkg --audit &&
        stackreel --version && stackreel-record --version && [ "$(dpkg-query -W -f "\${Version}" stackreel)" = '"$version"' ]'
    in_tree "the service takes over an upgrade and stops on removal" bare "$bare" sh -c 'cd /var/lib/dpkg/info &&
        grep -q try-reload-or-restart stackreel-record.postinst && ! grep -q _dh_action stackreel-record.postinst && grep -q "deb-systemd-invoke stop" stackreel-record.prerm'
    in_tree "remove them" bare "$bare" sh -c 'dpkg --purge $(dpkg-query -W -f "\${Package}\n" "*stackreel*") && ! find /etc /usr /var/lib/systemd -name "*stackreel*" | grep .'
    in_tree "autopkgtest" tester "$tester" sh -c 'apt-get update -q && dpkg-source --no-check -x ./*.dsc tree && { autopkgtest -B ./*.deb tree/ -- null || [ $? = 2 ]; }'
    # Status 2: a test was skipped.
    sed -n '/ summary$/,$p' "$work/out" | grep -E '^[a-z]+ +[A-Z]' | sed "s/^/$suite: autopkgtest: /"
    # autopkgtest skips a test that needs a machine of its own; here it runs on this machine's kernel.
    in_tree "debian/tests/record" tester "$tester" sh -c 'apt-get install -y -q ./stackreel_*.deb ./stackreel-record_*.deb && cd tree && mkdir -p /tmp/t &&
        AUTOPKGTEST_TMP=/tmp/t debian/tests/record || [ $? = 77 ]'
    rm -rf --one-file-system "${work:?}/$suite"
done
finish
