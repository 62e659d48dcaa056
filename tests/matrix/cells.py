#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The captures of testdata/CPU/chains: which scenario is in which variant and mode of testdata/programs/chains.

    cells.py CPU            the cells, VARIANT/MODE, one a line
    cells.py CPU CELL...    which guest of tests/vm/cells.sh records them: a line for each, GUEST CELL...

tests/chains/variant.sh says how a variant is built, tests/chains/chains.py which chains a mode has.
"""

import sys

CPUS = ["x86_64", "aarch64", "riscv64", "s390x"]

# scenario -> its cells.  A variant is chosen where the compiler's choice matters: how frames are laid out, what
# is inlined, what is behind a noreturn call.  What is libc's or the kernel's doing is recorded once.
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

# The kernel, of tests/vm/cells.sh.
GUESTS = {"x86_64": "x86_64-6.12", "aarch64": "arm64-6.12", "riscv64": "riscv64-6.12", "s390x": "s390x-6.12"}
GUESTS_OF = {("aarch64", "pauth"): "arm64-6.12-pauth"}

# What a CPU has not: (CPU, the beginning of VARIANT/MODE) -> why.
ABSENT = {}
for _cpu in ("x86_64", "riscv64", "s390x"):
    ABSENT[_cpu, "pauth/"] = "only arm64 signs return addresses"
FEW = "recorded on a busy host, too few of its samples were where the scenario is: capture.sh has to record it again"
ABSENT["x86_64", "gcc/leaf"] = FEW
ABSENT["riscv64", "musl/"] = "the linker of Debian 12 (2.40) crashes on the objects of Debian 13's musl, and 12 has none for riscv64"

# Not there yet: CPU -> why -> the cells.
OPEN = {
    "aarch64": {
        "its recording had chains that are not explained, or too few samples where the scenario is":
            "clang/tiny gcc/coroutine static-pie/tiny gcc/reload musl/tiny musl/alternate gcc/bare",
        "not recorded yet":
            "gcc-O0/realign gcc-fp/realign gcc-Os/exception clang/noreturn clang/tail clang/exception "
            "clang/inline gcc/fork gcc/exec static-pie/alternate static-pie/exception no-pie/plt musl/jump "
            "pauth/leaf pauth/tiny pauth/realign pauth/alternate pauth/jump pauth/noreturn pauth/tail pauth/plt "
            "pauth/exception",
    },
    "riscv64": {
        "its recording had chains in ld.so or at the program's end that are not explained, or no samples in the mode":
            "gcc/leaf gcc/deep gcc/coroutine gcc/plt gcc/lazy gcc/vdso gcc/threads static-pie/tiny gcc/reload "
            "gcc/bare-framed",
        "not recorded yet":
            "gcc-O0/tiny gcc-O0/realign gcc-fp/tiny gcc-fp/realign gcc-Os/tiny gcc-Os/exception clang/noreturn "
            "clang/tail clang/exception clang/inline gcc/fork gcc/exec static-pie/alternate static-pie/exception "
            "no-pie/plt",
    },
    "s390x": {
        "a sample of its recording could not read its stack (stack bytes ran out), which is not explained":
            "gcc/leaf gcc/tiny clang/tiny gcc/deep gcc-O0/tiny gcc-Os/tiny clang/realign gcc/nested gcc/alternate "
            "gcc/alternate-thread gcc/noreturn gcc/tail gcc/jump gcc/coroutine gcc/plt gcc/lazy gcc/vdso "
            "gcc/exception gcc/inline gcc/threads static-pie/tiny no-pie/tiny gcc/reload musl/tiny musl/alternate gcc/bare-framed gcc/bare",
        "not recorded yet":
            "gcc-O0/realign gcc-fp/realign gcc-Os/exception clang/noreturn clang/tail clang/exception "
            "clang/inline gcc/fork gcc/exec static-pie/alternate static-pie/exception no-pie/plt musl/jump",
    },
}
for _cpu, _reasons in OPEN.items():
    for _why, _cells in _reasons.items():
        ABSENT.update({(_cpu, _cell): _why for _cell in _cells.split()})


def absent(cpu, cell):
    """Why there is no such capture, or None."""
    for (other, beginning), why in ABSENT.items():
        if other == cpu and (cell == beginning or (beginning.endswith("/") and cell.startswith(beginning))):
            return why
    return None


def cells(cpu):
    """What there should be: VARIANT/MODE, each once, in the order of the scenarios."""
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
