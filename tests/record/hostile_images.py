#!/usr/bin/env python3
"""Small ELF files whose images of hit code take long to make, if they are made carelessly.

    hostile_images.py FOLDER N

Code segments of one page, each with a hole of 60 KB after it; every two bytes are a call of x86-64 (ff d0); a symbol spans each
segment and its hole, and its name has almost 64 KB; without unwind information, all of this must be scanned.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../reader"))

from elf_builder import PT_LOAD, SHF_ALLOC, SHF_EXECINSTR, SHT_PROGBITS, Elf

PAGE, STEP, SEGMENTS = 4096, 65536, 16
CODE = 4096  # the first page's offset in the file, and in memory


def hostile(number):
    elf = Elf(build_id=number.to_bytes(20, "big"))
    code = b"\xff\xd0" * ((CODE + SEGMENTS * PAGE) // 2)
    elf.sections = elf.sections[:2]
    elf.add(".text", code, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, address=CODE, size=SEGMENTS * STEP)
    elf.segments = [(PT_LOAD, 5, CODE + PAGE * i, CODE + STEP * i, PAGE, STEP) for i in range(SEGMENTS)]
    strings = b"\0" + b"n" * 65000 + b"\0"
    elf.symbols([(1 + i, CODE + STEP * i, STEP) for i in range(SEGMENTS)], strings)
    return elf


def main():
    folder, n = sys.argv[1], int(sys.argv[2])
    for i in range(n):
        hostile(i + 1).write(os.path.join(folder, f"hostile{i}.so"))


if __name__ == "__main__":
    main()
