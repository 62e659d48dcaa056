#!/bin/bash
# README's two commands, `make deps demo` and `make deps test`, as root on a bare Debian 13, which has newer compilers, libraries and tools:
# in a tree of its own with the mounts of a container.
#
#   DEBIAN=SUITE   a different release (trixie)
# run.sh: records thorough shares
# checks: packaging
. "$(dirname "$0")/../count.sh"
suite=${DEBIAN:-trixie}
[ "$(id -u)" = 0 ] || { skip "chroot and mount need root" && finish; }
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
export tree work root=$work/root cache=${STACKREEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/stackreel}
mkdir "$root" "$work/upper" "$work/overlay"

mount_overlay() { mount -t overlay -o "lowerdir=$tree,upperdir=$work/upper,workdir=$work/overlay" overlay "$root"; }

# mount_tree: what containers have. Packages and kernels that tests fetch stay in this host's cache.
mount_tree() {
    local file
    if [ -e "$root/bin" ]; then mount --bind "$root" "$root"; else mount_overlay; fi
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    for file in null zero full random urandom tty; do
        : >"$root/dev/$file"
        mount --bind "/dev/$file" "$root/dev/$file"
    done
    mkdir "$root/dev/pts" "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts "$root/dev/pts"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    ln -s pts/ptmx "$root/dev/ptmx"
    ln -s /proc/self/fd "$root/dev/fd"
    for file in stdin:0 stdout:1 stderr:2; do ln -s "fd/${file#*:}" "$root/dev/${file%:*}"; done
    mkdir -p "$root/cache" "$root/src"
    mount --bind "$cache" "$root/cache"
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    # Its root is that of the namespace, as in a container: paths of mapped files begin there.
    mkdir -p "$root/old"
    pivot_root "$root" "$root/old"
    cd /
    umount -l /old
}
export -f mount_overlay mount_tree

# inside COMMAND...: runs it in the tree, in the folder with the sources, and shows its output.
inside() {
    # shellcheck disable=SC2016 # expanded in the namespace
    unshare -m --propagation private bash -c 'set -eu; mount_tree; exec /usr/bin/env -i HOME=/root TERM=dumb \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin STACKREEL_CACHE=/cache \
        sh -c '\''cd /src && exec "$@"'\'' sh "$@"' bash "$@" >"$work/log" 2>&1 </dev/null
}

# in_tree NAME COMMAND...: a case that passes if the command succeeds in the tree.
in_tree() {
    local name=$1 status
    shift
    inside "$@"
    status=$?
    [ $status = 0 ] || grep -vE '^  [A-Z]+ |, 0 failed, ' "$work/log"
    count $status "$suite: $name (status $status)"
    return $status
}

# A container's root may be an overlay itself, which cannot hold the upper folder.
unshare -m bash -c mount_overlay 2>/dev/null || cp -a --reflink=auto "$tree/." "$root"
sources=$work/upper/src
[ ! -e "$root/bin" ] || sources=$root/src
mkdir -p "$sources"
tar -c --exclude=./.git --exclude='./build*' --exclude=node_modules . | tar -x --no-same-owner -C "$sources"

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
