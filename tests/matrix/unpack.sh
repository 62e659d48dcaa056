#!/bin/bash
# unpack.sh CPU DIR - unpack the binaries of testdata/CPU/chains into DIR, for --symfs and --debug-dir
#
#   stackreel report --no-host-files --symfs DIR --debug-dir DIR/usr/lib/debug testdata/CPU/chains/gcc/leaf.reel
set -euo pipefail
[ $# = 2 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0" >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
archive=$root/testdata/$1/chains/symfs.tar.xz
[ -e "$archive" ] || { echo "unpack.sh: no $archive" >&2; exit 1; }
mkdir -p "$2"
python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$archive" "$2"
