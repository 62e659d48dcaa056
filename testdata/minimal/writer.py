#!/usr/bin/env python3
"""Writes a minimal capture (SPEC.md, annex F.2): an x86-64 process, a thread, and a sample of it.

    writer.py FILE
"""

import struct
import sys
import zlib

FILE_ID = b"minimal capture!"   # here always the same; it must be random: os.urandom(16)


def uv(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + uv(number >> 7)


def sv(number):
    return uv((number << 1 ^ number >> 63) & (1 << 64) - 1)


def record(tag, *fields):
    """Numbers are `uv`, bytes are `bytes` or `text`."""
    payload = b"".join(uv(f) if isinstance(f, int) else uv(len(f)) + f for f in fields)
    return uv(tag) + uv(len(payload)) + payload


def skippable(magic, content):
    """A skippable frame that ends in the CRC-32 of all before."""
    frame = struct.pack("<II", magic, len(content) + 4) + content
    return frame + struct.pack("<I", zlib.crc32(frame))


def block(sequence, kind, records, expanded=0, first=0, last=0):
    raw = b"".join(records)
    cuts = range(0, len(raw), 65536)    # a zstd frame of blocks without compression
    payload = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(raw)) + b"".join(
        (len(raw[i:i + 65536]) << 3 | (i == cuts[-1])).to_bytes(3, "little") + raw[i:i + 65536] for i in cuts)
    return skippable(0x184D2A5D, b"RBLK" + FILE_ID[:4] + struct.pack(
        "<HBBIIIQQQII12x", kind, 1, 0, sequence, len(payload), len(raw), expanded, first, last, len(records),
        zlib.crc32(payload))) + payload


def columns(id, time, thread, pc, registers, address, stack):
    """A COLUMNS of one sample: every word has token 7. `stack` is whole words, at a multiple of 8."""
    words = [stack[i:i + 8] for i in range(len(stack) - 8, -8, -8)]
    streams = [b""] * 16
    streams[0] = sv(id) + uv(thread) + uv(0) + uv(1) + uv(1) + b"\1" + uv(0) + uv(1) + uv(1)
    streams[1] = sv(time)
    streams[2] = b"\0\x08" + sv(address) + sv(address + len(stack)) + uv(0)
    n = len(registers)
    streams[3] = uv(0) + ((1 << n) - 1).to_bytes((n + 7) // 8, "little") + ((2 << n) - 1).to_bytes(n // 8 + 1, "little")
    streams[4] = uv(0) + uv(len(words))
    streams[5] = b"\7" * (1 + n + len(words))
    streams[14] = struct.pack("<%dQ" % (1 + n), pc, *registers) + b"".join(words)
    payload = uv(1) + b"".join(uv(len(s)) + s for s in streams)
    return uv(71) + uv(len(payload)) + payload


def main():
    now, stack = 10 ** 9, bytes(128) + struct.pack("<4Q", 0x7ffc00001010, 0x401234, 0, 0x401056)
    side = [record(3, now, 0, 1, 62, 64, 1, 4096, 1, 1, 1 << 16, 0, 0, 0, b"", b"host", b"6.1.0", b"", b"", b"tool 1", b""),
            record(4, 1, 1, 0, 99, 0, 1, b"cpu-clock"),
            record(6, 1, 1, 0, 0, 0, 0, bytes(range(20)), b"/bin/example"),
            record(11, now, 1, 0, 0, 100, 0, 62, 64, 1, 0, 0, 0),
            record(15, now, 1, 1, 0, 100, 0, 0, b"example"),
            record(23, now, 1, 0x401000, 0x1000, 0x1000, 5, 2, 1)]
    layout = uv(65) + uv(8) + uv(0) + uv(3) + bytes([6, 8, 7, 8, 16, 8])    # rbp, rsp, return address (pc)
    sp, pc = 0x7ffc00000ff0, 0x401136
    samples = [layout, columns(1, now + 5000, 1, pc, [0x7ffc00001000, sp, pc], sp - 128, stack)]
    out = skippable(0x184D2A5E, b"\x89REEL\r\n\x1a" + struct.pack("<HHI", 1, 0, 0) + FILE_ID + bytes(4))
    out += block(0, 1, side, first=now, last=now) + block(1, 2, samples, len(stack), now + 5000, now + 5000)
    out += block(2, 1, [record(30, now + 10000, 6, 1, 0, 3, len(side) + 1)], first=now + 10000, last=now + 10000)
    out += skippable(0x184D2A5C, b"REELEND\n" + bytes(8) + FILE_ID[:4])
    with open(sys.argv[1], "wb") as file:
        file.write(out)


if __name__ == "__main__":
    main()
