#!/bin/bash
# Installs what is missing to build stackreel, with apt or dnf, and says what.
#
#   packaging/deps.sh            to build and run
#   packaging/deps.sh test       to test as well (an emulator and a cross compiler included)
#   packaging/deps.sh test-all   for all that the thorough tests need: compilers and emulators of every CPU, and from npm programs that show profiles
#
# Asks only for packages that are not installed; needs root only if there are any.
set -eu
cd "$(dirname "$0")/.."

apt_build=(gcc g++ make pkg-config clang llvm libc6-dev libbpf-dev libelf-dev libdw-dev liblzma-dev libzstd-dev libsodium-dev
    libcapstone-dev libseccomp-dev libsqlite3-dev zlib1g-dev)
apt_test=(libcmocka-dev elfutils debuginfod libclang-rt-dev zstd python3 binutils procps util-linux libcap2-bin gdb dwz lld
    libunwind-dev libc6-dbg less xz-utils file python3-jsonschema python3-yaml cmark-gfm sqlite3)
# What other unwinders say is compared with perf's. Ubuntu's perf is bound to its kernels.
[ "$(. /etc/os-release 2>/dev/null && echo "${ID-}")" != debian ] || apt_test+=(linux-perf)
# Each compiler's own tables are tried on what it writes; what is exported, by valgrind's programs and those that tests/npm names.
apt_all=(golang-go debhelper lintian valgrind)
command -v node >/dev/null || apt_all+=(nodejs npm)
dnf_build=(gcc gcc-c++ make pkgconf-pkg-config clang llvm glibc-devel libbpf-devel elfutils-libelf-devel
    elfutils-devel xz-devel libzstd-devel libsodium-devel capstone-devel libseccomp-devel sqlite-devel zlib-devel)
dnf_test=(libcmocka-devel elfutils elfutils-debuginfod compiler-rt libasan libubsan zstd python3 binutils procps-ng util-linux libcap gdb dwz lld
    libunwind-devel perf less xz file sqlite python3-jsonschema python3-pyyaml)
dnf_all=(golang valgrind nodejs-npm)

want_test= want_all=
case " $* " in *" test "* | *" test-all "*) want_test=yes ;; esac
case " $* " in *" test-all "*) want_all=yes ;; esac

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        echo "deps: sudo $*" >&2
        sudo "$@"
    else
        echo "deps: root is needed for: $*" >&2
        exit 1
    fi
}

apt_has() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# keep_missing QUERY PACKAGE...: sets `list` to the packages that QUERY does not find installed.
keep_missing() {
    local query=$1 package
    shift
    list=()
    for package; do
        $query "$package" >/dev/null 2>&1 || list+=("$package")
    done
}

if command -v apt-get >/dev/null; then
    keep_missing apt_has "${apt_build[@]}" ${want_test:+"${apt_test[@]}"} ${want_all:+"${apt_all[@]}"}
    install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends)
    refresh=(apt-get update -q)
elif command -v dnf >/dev/null; then
    keep_missing "rpm -q" "${dnf_build[@]}" ${want_test:+"${dnf_test[@]}"} ${want_all:+"${dnf_all[@]}"}
    install=(dnf install -y -q)
    refresh=(true)
else
    echo "deps: neither apt-get nor dnf is here; install what your system calls ${apt_build[*]}" >&2
    exit 1
fi

if [ ${#list[@]} -gt 0 ]; then
    echo "deps: installing ${list[*]}"
    as_root "${refresh[@]}"
    as_root "${install[@]}" "${list[@]}"
else
    echo "deps: nothing is missing"
fi

if [ -n "$want_all" ] && command -v npm >/dev/null; then
    (cd tests/npm && npm ci --ignore-scripts --no-audit --no-fund)
fi

if [ -n "$want_test" ] && command -v apt-get >/dev/null; then
    as_root tests/vm/deps.sh ${want_all:+s390x riscv64 hosts}
fi
