#!/bin/bash
# The quick form of every comparison, for CI; `make truth` runs the long one.
# run.sh: records thorough shares
# checks: replay/names
exec "$(dirname "$0")/run.sh" --quick
