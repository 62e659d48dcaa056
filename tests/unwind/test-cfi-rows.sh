#!/bin/bash
# The rows of CFI of this host's libraries and compilers against libdw's: the quick form of tests/truth/cfi.sh.
exec "$(dirname "$0")/../truth/cfi.sh" --quick
