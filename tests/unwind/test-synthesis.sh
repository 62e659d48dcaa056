#!/bin/bash
# Compares synthesized rows with CFI's rows: the quick form of tests/truth/synthesis.sh.
# run.sh: thorough
# checks: replay/synthesis
exec "$(dirname "$0")/../truth/synthesis.sh" --quick
