#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The captures of testdata/CPU/chains: which variant and mode of testdata/programs/chains covers which scenario.

    cells.py CPU            the cells, VARIANT/MODE, one per line
    cells.py CPU CELL...    the guests of tests/vm/cells.sh that record them: a line for each, GUEST CELL...

tests/chains/variant.sh builds the variants, tests/chains/chains.py lists the chains of each mode.
"""

import sys

CPUS = ["x86_64", "aarch64", "riscv64", "s390x"]

# scenario -> its cells.  Scenarios are recorded in several variants where the compiler's choices matter: the layout of
# frames, inlining, the code after a noreturn call.  Scenarios decided by libc or the kernel are recorded once.
SCENARIOS = {
    "leaf in the hot path": ["gcc/leaf"],
    "prologues and epilogues": ["gcc/tiny", "clang/tiny"],
    "recursion past 64 KB": ["gcc/deep"],
    "frame pointers, -O0": ["gcc-O0/tiny", "gcc-O0/realign"],
    "frame pointers, -O2": ["gcc-fp/tiny", "gcc-fp/realign"],
    "no frame pointers, -O2": ["gcc/tiny", "clang/tiny"],
    "no frame pointers, -Os": ["gcc-Os/tiny", "gcc-Os/exception"],
    "alloca and realignment": ["gcc/realign", "clang/realign"],
    "handler, normal stack": ["gcc/handler", "gcc/nested"],
    "handler, alternate stack": ["gcc/alternate", "gcc/alternate-thread"],
    "noreturn call at the end": ["gcc/noreturn", "clang/noreturn"],
    "tail calls": ["gcc/tail", "clang/tail"],
    "longjmp, coroutines": ["gcc/jump", "gcc/coroutine"],
    "PLT, lazy binding": ["gcc/plt", "gcc/lazy"],
    "vDSO": ["gcc/vdso"],
    "exceptions": ["gcc/exception", "clang/exception"],
    "inlining four deep": ["gcc/inline", "clang/inline"],
    "threads": ["gcc/threads"],
    "fork, exec": ["gcc/fork", "gcc/exec"],
    "static-pie": ["static-pie/tiny", "static-pie/alternate", "static-pie/exception"],
    "non-PIE": ["no-pie/tiny", "no-pie/plt"],
    "dlopen": ["gcc/reload"],
    "musl": ["musl/tiny", "musl/alternate", "musl/jump"],
    "signed return addresses": ["pauth/leaf", "pauth/tiny", "pauth/realign", "pauth/alternate", "pauth/jump",
                                "pauth/noreturn", "pauth/tail", "pauth/plt", "pauth/exception"],
    "assembly without CFI": ["gcc/bare-framed", "gcc/bare"],
}

# The kernel, from tests/vm/cells.sh.
GUESTS = {"x86_64": "x86_64-6.12", "aarch64": "arm64-6.12", "riscv64": "riscv64-6.12", "s390x": "s390x-6.12"}
GUESTS_OF = {("aarch64", "pauth"): "arm64-6.12-pauth"}

# Cells that a CPU cannot have: (CPU, the beginning of VARIANT/MODE) -> reason.
ABSENT = {}
for _cpu in ("x86_64", "riscv64", "s390x"):
    ABSENT[_cpu, "pauth/"] = "only arm64 signs return addresses"
ABSENT["riscv64", "musl/"] = "the linker of Debian 12 (2.40) crashes on the objects of Debian 13's musl, and 12 has none for riscv64"

ABSENT["riscv64", "gcc/lazy"] = "liblazy.so's PLT slots are read-only there: a signal ends the mode, which resets them"
ABSENT["riscv64", "static-pie/exception"] = "a signal ends the program there when it throws"
ABSENT["riscv64", "clang/inline"] = "clang 14's debug information has no inlined functions there; addr2line and llvm-symbolizer find none either"
ABSENT["s390x", "gcc/reload"] = "the emulated CPU spends the whole recording in one dlopen"
ABSENT["s390x", "static-pie/"] = "static-pie programs of Debian 12's cross compiler crash at their start"


def absent(cpu, cell):
    """The reason why a capture cannot exist, or None."""
    for (other, beginning), why in ABSENT.items():
        if other == cpu and (cell == beginning or (beginning.endswith("/") and cell.startswith(beginning))):
            return why
    return None


def cells(cpu):
    """The expected captures: VARIANT/MODE, each once, in the order of the scenarios."""
    every = dict.fromkeys(cell for some in SCENARIOS.values() for cell in some)
    return [cell for cell in every if not absent(cpu, cell)]


def boots(cpu, wanted):
    """{guest: cells that it records}"""
    by_guest = {}
    for cell in wanted:
        by_guest.setdefault(GUESTS_OF.get((cpu, cell.split("/")[0]), GUESTS[cpu]), []).append(cell)
    return by_guest


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in CPUS:
        sys.exit("cells.py: the first argument is one of %s" % ", ".join(CPUS))
    cpu, wanted = sys.argv[1], sys.argv[2:]
    if not wanted:
        print("\n".join(cells(cpu)))
        return
    for cell in wanted:
        if cell not in cells(cpu):
            sys.exit("cells.py: %s has no cell %s: %s" % (cpu, cell, absent(cpu, cell) or "it is in no scenario"))
    for guest, some in boots(cpu, wanted).items():
        print(guest, *some)


if __name__ == "__main__":
    main()
