#!/bin/bash
# `make dist`: two clones give the same bytes, and the archive, which has no .git, builds and passes its tests.
#
#   UNIT=1    only the unit tests instead of all quick ones
. "$(dirname "$0")/../../tests/count.sh"
trap 'rm -rf "$work"' EXIT
# One test runs the programs as another user.
chmod 755 "$work"
trap 'exit 1' INT TERM HUP
git rev-parse -q --verify HEAD >/dev/null 2>&1 || { skip "not a clone" && finish; }

name=stackreel-$(sed -n 's/^#define REEL_VERSION_STRING "\(.*\)"/\1/p' include/stackreel.h)
# Different users' masks and times must not matter.
umask 077
ok "clone" git clone -q . "$work/one"
ok "make dist" make -s -C "$work/one" dist
umask 022
ok "clone again" git clone -q "$work/one" "$work/two"
find "$work/two" -exec touch -h -d 2001-01-01 {} +
ok "make dist there" make -s -C "$work/two" O="$work/made" dist
cmp "$work/one/build/$name.tar.zst" "$work/made/$name.tar.zst"
count $? "the archives are byte-identical: $(cat "$work/made/$name.tar.zst.sha256")"
(cd "$work/made" && sha256sum --status -c "$name.tar.zst.sha256")
count $? "the checksum is the archive's"
echo >>"$work/two/README.md"
run 2 make -s -C "$work/two" O="$work/made" dist
says 'uncommitted changes'

ok "unpack" tar --zstd -xf "$work/made/$name.tar.zst" -C "$work"
diff <(cd "$work/$name" && find . ! -type d | sed 's/^..//' | sort) <(git -C "$work/one" ls-tree -r --name-only HEAD | sort)
count $? "it has the commit's files"
status=0
(cd "$work/$name" && unset O && make -s -j"$(nproc)" WERROR=1 tests && tests/run.sh ${UNIT:+--unit}) >"$work/log" 2>&1 || status=$?
[ $status = 0 ] || tail -n 40 "$work/log"
count $status "it builds and passes its tests: $(tail -n 1 "$work/log")"
echo "$name.tar.zst: $(stat -c %s "$work/made/$name.tar.zst") bytes, tests in it: $(grep -E '^[0-9]+ passed, ' "$work/log" | tail -n 1)"
finish
