#!/bin/bash
# tests/vm/test-guests.sh on the oldest kernel and on another CPU; LONG=1: on all cells that it does not use.
# run.sh: guests thorough shares longer
# checks: bpf =record/sampling =record
CELLS="arm64-6.1 x86_64-5.10${LONG:+ x86_64-6.12 x86_64-6.12-8cpu s390x-6.12 riscv64-6.12}" exec "$(dirname "$0")/test-guests.sh"
