#!/bin/bash
# Compares synthesized rows with those of CFI: the quick form of tests/truth/synthesis.sh.
# run.sh: thorough
exec "$(dirname "$0")/../truth/synthesis.sh" --quick
