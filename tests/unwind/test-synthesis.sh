#!/bin/bash
# Compares synthesized rows with CFI's rows: the quick form of tests/truth/synthesis.sh.
# run.sh: thorough
exec "$(dirname "$0")/../truth/synthesis.sh" --quick
