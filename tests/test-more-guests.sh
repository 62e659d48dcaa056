#!/bin/bash
# tests/test-guests.sh on the kernels and CPUs that it leaves out.
# run.sh: guests thorough
CELLS="arm64-6.1 x86_64-5.10 x86_64-6.12 x86_64-6.12-8cpu s390x-6.12 riscv64-6.12" exec "$(dirname "$0")/test-guests.sh"
