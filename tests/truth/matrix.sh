#!/bin/bash
# matrix.sh - compare each trace of the captures in testdata/CPU/chains with libdw's
exec "$(dirname "$0")/../matrix/test-matrix.py" --libdw
