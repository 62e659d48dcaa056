# SPDX-License-Identifier: Apache-2.0
"""Where the CFI of an AArch64 program is late: LLVM before 15 describes a whole prologue only at its end.

The rows are those of `stackreel table` (which tests/truth/cfi.sh compares with libdw's), the instructions come from
the file.
"""
import os
import re
import struct
import subprocess

ROW = re.compile(r"([0-9a-f]+) ([0-9a-f]+) +\S+ +\S+ +\S+ +\S+ +([0-9a-f]+)-[0-9a-f]+ (.*)$")


def moves_sp(word):
    """stp and str with writeback to sp;  sub sp, sp, #…  (Arm ARM C6.2)"""
    return word & 0xffc003e0 == 0xa98003e0 or word & 0xffe00fe0 == 0xf8000fe0 or word & 0xff8003ff == 0xd10003ff


def signs(word):
    """paciasp, pacibsp: after it, a row of its own begins (DW_CFA_AARCH64_negate_ra_state)"""
    return word & 0xffffffbf == 0xd503233f


def segments_of(data):
    table, = struct.unpack_from("<Q", data, 0x20)
    size, count = struct.unpack_from("<HH", data, 0x36)
    for i in range(count):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", data, table + i * size)
        if kind == 1:
            yield address, offset, length


def late_offsets(path):
    """The offsets of the instructions, by function, at which sp was already moved but the CFI does not say so yet."""
    late = {}
    with open(path, "rb") as file:
        data = file.read()
    stackreel = os.path.join(os.environ.get("O", "build"), "stackreel")
    table = subprocess.run([stackreel, "table", path], capture_output=True, text=True, check=True).stdout
    segments = list(segments_of(data))
    for row in map(ROW.match, table.splitlines()):
        begin, end, function = (int(row.group(i), 16) for i in (1, 2, 3)) if row else (0, 0, None)
        if function is None or begin - function not in (0, 4):
            continue
        start = next((offset + begin - address for address, offset, length in segments
                      if address <= begin and end <= address + length), None)
        if start is None or (begin != function and not signs(struct.unpack_from("<I", data, start - 4)[0])):
            continue
        words = struct.unpack_from("<%dI" % ((end - begin) // 4), data, start)
        moved = next((i for i, word in enumerate(words) if moves_sp(word)), len(words))
        if moved + 1 < len(words) and len(words) < 32:
            late.setdefault(row.group(4), set()).update(
                range(begin - function + 4 * (moved + 1), end - function, 4))
    return late
