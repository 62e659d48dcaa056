#!/usr/bin/env python3
"""MODULE's file_digest of a file, written from SPEC.md alone: "" if it has none.

    file_digest.py FILE...
"""

import hashlib
import struct
import sys


def digest(data):
    if len(data) < 52 or data[:4] != b"\x7fELF" or data[4] not in (1, 2) or data[5] not in (1, 2):
        return None
    order = "<>"[data[5] - 1]
    bits, header_size = (32, 52) if data[4] == 1 else (64, 64)
    if bits == 64:
        machine, entry, phoff, phentsize, phnum = struct.unpack_from(
            order + "18x H 4x Q Q 14x H H", data)
    else:
        machine, entry, phoff, phentsize, phnum = struct.unpack_from(
            order + "18x H 4x I I 10x H H", data)
    parts = [struct.pack("<4Q", bits, data[5], machine, entry)]
    loaded = []
    begin = 4096

    def file_bytes(offset, size):
        found = data[offset:offset + size]
        if len(found) != size:
            raise ValueError
        return found

    for i in range(phnum):
        at = phoff + i * phentsize
        if bits == 64:
            kind, flags, offset, address, _, size, memory = struct.unpack_from(
                order + "IIQQQQQ", data, at)
        else:
            kind, offset, address, _, size, memory, flags = struct.unpack_from(
                order + "IIIIIII", data, at)
        if kind == 1:
            parts.append(struct.pack("<4Q", flags, offset, address, memory))
            if not flags & 2:
                parts.append(struct.pack("<Q", size))
                loaded.append((offset, file_bytes(offset, size)))
        elif kind == 4 and size <= 65536:
            parts.append(struct.pack("<Q", size) + file_bytes(offset, size))
        if kind in (3, 4) and size:
            begin = min(begin, offset)
    if begin == 4096:
        begin = header_size
    whole = b"".join(bytes(max(0, min(len(part), begin - offset))) + part[max(0, begin - offset):]
                     for offset, part in loaded)
    if not whole:
        return None
    if len(whole) <= 262144:
        parts.append(whole)
    else:
        step = (len(whole) - 16384) // 15
        parts += [whole[i * step:i * step + 16384] for i in range(16)]
    return hashlib.blake2b(b"".join(parts), digest_size=16).hexdigest()


def main():
    for path in sys.argv[1:]:
        with open(path, "rb") as file:
            try:
                found = digest(file.read())
            except (ValueError, struct.error):
                found = None
        print(found or "")


if __name__ == "__main__":
    main()
