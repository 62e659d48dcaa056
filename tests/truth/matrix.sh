#!/bin/bash
# matrix.sh - the captures of testdata/CPU/chains, each trace against libdw's as well
exec "$(dirname "$0")/../test-matrix.py" --libdw
