#!/bin/bash
# Snapshots at kernel functions (-e fentry:, fexit:), recorded in guests. Compares registers and chains with the kernel's kprobes and
# function tracer, which trace the same calls. Also checks the error message on kernels without support.
#   CELLS="…"   the guests; the long form: x86_64-5.10 x86_64-6.1 x86_64-6.12 x86_64-sid arm64-6.12 arm64-sid arm64-6.1
# run.sh: guests thorough shares
# checks: record/sampling
. "$(dirname "$0")/../count.sh"

number=0
for cell in ${CELLS:-x86_64-6.12 arm64-6.12}; do
    in_share $((number++)) || continue
    echo "$cell:"
    recorded "$cell" tests/vm/fentry.sh "$cell" "$work/$cell" || continue
    case $cell in
    arm64-5.10 | arm64-6.1 | riscv64-* | s390x-*)
        cat "$work/$cell/refused.txt"
        [ "$(wc -l <"$work/$cell/refused.txt")" = 1 ] &&
            grep -qE 'from Linux 6\.4 on|only be traced on x86-64 and arm64' "$work/$cell/refused.txt"
        count $? "$cell: explains in one line why not"
        continue
        ;;
    esac
    while read -r result name; do
        case $result in
        ok) count 0 "$name" ;;
        skip) skip "$cell: $name" ;;
        *) count 1 "$cell: $result $name" ;;
        esac
    done < <(tests/record/fentry_check.py "$O/stackreel" "$work/$cell" 2>&1)
done
finish
