#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes small copies of the binaries that captures need.

    trim.py STACKREEL SYMFS OUTDIR FILE.reel...

OUTDIR gets the binaries from SYMFS that contain frames of these captures, at the same paths, and their debug files.  Only
code blocks with a frame in them are kept; other code, constants and data become zero, so that the files compress well;
headers, CFI, symbols, debug information, PLTs and build-ids are unchanged, and so are all addresses and offsets.
"""

import json
import os
import re
import shutil
import struct
import subprocess
import sys

BLOCK = 512  # a function or two
PROGBITS, RELA, GNU_HASH = 1, 4, 0x6ffffff6
ALLOC, EXECUTABLE = 2, 4
KEPT = re.compile(r"\.(eh_frame|eh_frame_hdr|gcc_except_table|plt.*|iplt|init|fini|interp)$")


def run(command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, errors="replace").stdout


def frames(stackreel, symfs, reel):
    """{path: the blocks of that file with a frame in them}"""
    paths, maps, blocks = {}, [], {}
    for line in run([stackreel, "dump", "--json", reel]).splitlines():
        record = json.loads(line)
        if record.get("record") == "MODULE":
            paths[record["id"]] = record["path"]
        elif record.get("record") == "MAP":
            address, size, offset = (int(str(record[name]), 0) for name in ("address", "size", "offset"))
            maps.append((address, address + size, offset, record["module"]))
    # An address may have belonged to several files in turn: an extra block does no harm.
    addresses = set(re.findall(r"^\t *([0-9a-f]+) ", run([stackreel, "script", "-q", "--no-inline", "--no-host-files",
                                                         "--symfs", symfs, reel]), re.M))
    for address in (int(text, 16) for text in addresses):
        for start, end, offset, module in maps:
            if start <= address < end and module in paths:
                # A return address may be in the block after the call's.
                for byte in (address - 1, address, address + 16):
                    blocks.setdefault(paths[module], set()).add((byte - start + offset) // BLOCK)
    return blocks


def sections(data):
    order = "<" if data[5] == 1 else ">"
    table, = struct.unpack_from(order + "Q", data, 0x28)
    size, count, names = struct.unpack_from(order + "HHH", data, 0x3a)
    headers = [struct.unpack_from(order + "IIQQQQ", data, table + i * size) for i in range(count)]
    for name, kind, flags, _, offset, length in headers:
        at = headers[names][4] + name
        yield bytes(data[at:data.index(b"\0", at)]).decode(), kind, flags, offset, length


def trim(data, blocks):
    for name, kind, flags, offset, length in sections(data):
        if not flags & ALLOC or KEPT.match(name):
            continue
        if kind == PROGBITS and flags & EXECUTABLE:
            for block in range(offset // BLOCK, (offset + length - 1) // BLOCK + 1):
                if block not in blocks:
                    start, end = max(offset, block * BLOCK), min(offset + length, (block + 1) * BLOCK)
                    data[start:end] = bytes(end - start)
        elif kind in (PROGBITS, RELA, GNU_HASH):
            data[offset:offset + length] = bytes(length)


def build_id(data):
    for name, _, _, offset, length in sections(data):
        if name == ".note.gnu.build-id":
            return bytes(data[offset + 16:offset + length]).hex()
    return ""


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    stackreel, symfs, outdir, reels = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    blocks = {}
    for reel in reels:
        for path, numbers in frames(stackreel, symfs, reel).items():
            blocks.setdefault(path, set()).update(numbers)
    for path in sorted(blocks):
        if not os.path.exists(symfs + path):
            continue  # the vDSO, which is in the capture
        with open(symfs + path, "rb") as file:
            data = bytearray(file.read())
        trim(data, blocks[path])
        os.makedirs(os.path.dirname(outdir + path), exist_ok=True)
        with open(outdir + path, "wb") as file:
            file.write(data)
        os.chmod(outdir + path, 0o755)
        name = build_id(data)
        debug = "/usr/lib/debug/.build-id/%s/%s.debug" % (name[:2], name[2:])
        if name and os.path.exists(symfs + debug):
            os.makedirs(os.path.dirname(outdir + debug), exist_ok=True)
            shutil.copyfile(symfs + debug, outdir + debug)


if __name__ == "__main__":
    main()
