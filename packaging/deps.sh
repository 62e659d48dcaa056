#!/bin/bash
# Installs the missing dependencies of stackreel, with apt or dnf, and lists them.
#
#   packaging/deps.sh            to build and run
#   packaging/deps.sh test       to test as well (including an emulator and a cross compiler)
#   packaging/deps.sh test-all   for the thorough tests as well: compilers and emulators for every CPU, and npm packages (profile viewers, TypeScript, and what controls a browser)
#
# Requests only packages that are not installed, and needs root only for these.
set -eu
cd "$(dirname "$0")/.."

apt_build=(gcc g++ make pkg-config clang llvm libc6-dev libbpf-dev libelf-dev libdw-dev libdeflate-dev liblzma-dev libzstd-dev
    libsodium-dev libcapstone-dev libseccomp-dev libsqlite3-dev libncurses-dev zlib1g-dev
    libprotobuf-c-dev protobuf-c-compiler protobuf-compiler libcurl4-openssl-dev)
apt_test=(ccache libcmocka-dev elfutils debuginfod libclang-rt-dev zstd python3 binutils procps util-linux libcap2-bin gdb gdb-multiarch dwz lld
    libunwind-dev libc6-dbg less xz-utils file python3-jsonschema python3-yaml cmark-gfm sqlite3 parallel tmux zsh fish)
# Tests compare with perf's unwinders. Ubuntu's perf packages are tied to specific kernels.
[ "$(. /etc/os-release 2>/dev/null && echo "${ID-}")" != debian ] || apt_test+=(linux-perf)
# Go's tables are tested on a Go compiler's output; tests build packages, show pages in a browser, and run Slurm;
# exports are read by valgrind's programs and those in tests/npm. Ruby runs the program of test-ruby.py, and
# python3-dbg has what gdb needs for test-python-gdb.py; mmdebstrap makes the tree of test-debian.sh.
# Not emscripten, for test-wasm.sh: 112 MB to fetch and 821 MB on disk in each run of CI, and five minutes of CPU, half of them for libraries.
apt_all=(golang-go abigail-tools debhelper dh-python lintian chromium slurmctld slurmd slurm-client munge valgrind ruby python3-dbg mmdebstrap musl-tools)
command -v node >/dev/null || apt_all+=(nodejs npm)
dnf_build=(gcc gcc-c++ make pkgconf-pkg-config clang llvm glibc-devel libbpf-devel elfutils-libelf-devel
    elfutils-devel libdeflate-devel xz-devel libzstd-devel libsodium-devel capstone-devel libseccomp-devel sqlite-devel ncurses-devel zlib-devel
    protobuf-c-devel protobuf-c-compiler protobuf-compiler libcurl-devel)
dnf_test=(ccache libcmocka-devel elfutils elfutils-debuginfod compiler-rt libasan libubsan zstd python3 binutils procps-ng util-linux libcap gdb dwz lld
    libunwind-devel perf less xz file sqlite python3-jsonschema python3-pyyaml parallel tmux zsh fish)
dnf_all=(golang libabigail chromium slurm-slurmctld slurm-slurmd slurm munge valgrind nodejs-npm ruby)

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
        echo "deps: need root for: $*" >&2
        exit 1
    fi
}

apt_has() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# keep_missing QUERY PACKAGE...: sets `list` to the packages for which QUERY fails.
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
    echo "deps: found neither apt-get nor dnf; install your system's equivalents of ${apt_build[*]}" >&2
    exit 1
fi

if [ ${#list[@]} -gt 0 ]; then
    echo "deps: installing ${list[*]}"
    as_root "${refresh[@]}"
    as_root "${install[@]}" "${list[@]}"
else
    echo "deps: nothing is missing"
fi

# Without a network, the tests that need these packages are skipped.
installed=tests/npm/node_modules/.package-lock.json
if [ -n "$want_all" ] && command -v npm >/dev/null && { [ ! -e $installed ] || [ tests/npm/package-lock.json -nt $installed ]; }; then
    echo "deps: npm ci, in tests/npm"
    (cd tests/npm && timeout 120 npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 --loglevel=error) && touch $installed ||
        echo "deps: npm could not fetch the packages; tests with profile viewers, pages in a browser and DuckDB will be skipped"
fi

if [ -n "$want_test" ] && command -v apt-get >/dev/null; then
    as_root tests/vm/deps.sh ${want_all:+s390x riscv64 hosts}
fi
