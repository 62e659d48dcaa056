#!/bin/bash
# README's two commands, `make deps demo` and `make deps test`, as root on a bare Debian 13, which has newer compilers, libraries and tools:
# in a tree of its own with the mounts of a container.
#
#   DEBIAN=SUITE   a different release (trixie)
# run.sh: records thorough shares
# checks: packaging
. "$(dirname "$0")/../count.sh"
suite=${DEBIAN:-trixie}
[ "$(id -u)" = 0 ] || { skip "mounts need root" && finish; }
unshare -m true 2>/dev/null || { skip "no permission to make a mount namespace" && finish; }
# Mounts exist only in the namespaces of `inside`, so this removes no other files.
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM HUP

tree=$(tests/vm/tree.sh "$suite" 2>"$work/err")
case $? in
0) ;;
77) skip "$suite: $(tail -n 1 "$work/err")" && finish ;;
*) sed 's/^/    /' "$work/err" && count 1 "a tree of $suite" && finish ;;
esac
mkdir "$work/src"
tar -c --exclude=./.git --exclude='./build*' --exclude=node_modules . | tar -x --no-same-owner -C "$work/src"

# in_tree NAME COMMAND...: a case that passes if the command succeeds in the tree.
in_tree() {
    local name=$1 status
    shift
    tests/vm/inside.sh "$tree" "$work" "$@" >"$work/log" 2>&1
    status=$?
    [ $status = 0 ] || grep -vE '^  [A-Z]+ |, 0 failed, ' "$work/log"
    count $status "$suite: $name (status $status)"
    return $status
}

in_tree "make deps demo" make deps demo && { grep -qE '^[0-9,]+ samples, |Recording is not possible here' "$work/log"; count $? "$suite: the demo shows a profile"; }
if [ -z "${SHARE-}" ]; then
    in_tree "make deps test" make deps test
else
    mapfile -t runners < <({
        find tests/unit -name 'test_*.c' | sed 's/\.c$//; s/^tests\///'
        grep -LE '^# run\.sh:.* thorough' tests/*/test-*.sh tests/*/test-*.py tests/*/test.sh | sed 's/^tests\///'
    } | sort | awk -v k="${SHARE%/*}" -v n="${SHARE#*/}" 'NR % n == k')
    in_tree "make deps" packaging/deps.sh test
    in_tree "make tests" make -j "$(nproc)" WERROR=1 tests
    in_tree "share $SHARE of the tests" tests/run.sh "${runners[@]}"
fi
counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$work/log" | tail -n 1)
[[ $counts == *" 0 failed,"* && $counts != "0 passed"* ]]
count $? "$suite: all tests pass: ${counts:-they did not run}"
echo "in $suite: $counts"
finish
