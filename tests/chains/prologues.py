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
        if not row or row.group(1).lstrip("0") != row.group(3).lstrip("0"):
            continue
        begin, end = int(row.group(1), 16), int(row.group(2), 16)
        start = next((offset + begin - address for address, offset, length in segments
                      if address <= begin and end <= address + length), None)
        if start is None:
            continue
        words = struct.unpack_from("<%dI" % ((end - begin) // 4), data, start)
        moved = next((i for i, word in enumerate(words) if moves_sp(word)), len(words))
        if moved + 1 < len(words) and len(words) < 32:
            late.setdefault(row.group(4), set()).update(range(4 * (moved + 1), 4 * len(words), 4))
    return late
