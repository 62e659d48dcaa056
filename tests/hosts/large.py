#!/usr/bin/env python3
"""large.py capture|index|perf FROM TO - makes a 5 GB file from a small one, with its contents after the first 4 GB

It is sparse, so it takes no space.  capture, index: from a capture, with unknown optional blocks before its last block
of samples; without an index, or with one.  perf: from a perf.data file, with its data after the gap.
"""
import os
import struct
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../reader"))
import reel_builder  # noqa: E402

GAP = 5 << 30
HEADER, BLOCK, TRAILER = 48, 80, 32
STORED_MAX = 65 << 20
SAMPLES, INDEX, UNKNOWN = 2, 3, 0x7fff
OPTIONAL = 1


def blocks_of(data):
    """(fields of the header, payload) of each block except for the index."""
    at = HEADER
    while at < len(data) - TRAILER:
        fields = list(struct.unpack_from("<II4s4sHBBIIIQQQII12s", data, at))
        payload = data[at + BLOCK:at + BLOCK + fields[8]]
        if fields[4] != INDEX:
            yield fields, payload
        at += BLOCK + fields[8]


class Writer:
    def __init__(self, path, tag):
        self.file, self.tag, self.blocks = open(path, "wb"), tag, []

    def block(self, type, stored_size, payload, codec=1, flags=0, **header):
        header = dict(header, type=type, sequence=len(self.blocks), stored_size=stored_size, codec=codec, flags=flags,
                      tag=self.tag)
        self.blocks.append(dict(header, offset=self.file.tell()))
        self.file.write(reel_builder.block_header(**header) + payload)
        self.file.seek(stored_size - len(payload), os.SEEK_CUR)


def make_capture(data, path, with_index):
    tag = data[24:28]
    blocks = list(blocks_of(data))
    last = max(i for i, (fields, _) in enumerate(blocks) if fields[4] == SAMPLES)
    writer = Writer(path, tag)
    writer.file.write(data[:HEADER])
    for i, (fields, payload) in enumerate(blocks):
        while i == last and writer.file.tell() < GAP:
            writer.block(UNKNOWN, STORED_MAX, b"", flags=OPTIONAL, raw_size=0, records=0, payload_crc=0)
        writer.block(fields[4], fields[8], payload, raw_size=fields[9], expanded_size=fields[10], time_first=fields[11],
                     time_last=fields[12], records=fields[13], payload_crc=fields[14])
    index_offset = 0
    if with_index:
        index_offset = writer.file.tell()
        names = ("offset", "type", "sequence", "stored_size", "raw_size", "expanded_size", "time_first", "time_last", "records")
        entries = [reel_builder.record("INDEX_ENTRY", *(block.get(name, 0) for name in names)) for block in writer.blocks]
        raw = b"".join(entries)
        payload = reel_builder.frame(raw)
        writer.block(INDEX, len(payload), payload, raw_size=len(raw), records=len(entries), payload_crc=zlib.crc32(payload))
    writer.file.write(reel_builder.trailer(index_offset=index_offset, tag=tag))
    writer.file.close()


def make_perf(data, path):
    """The header has the data's offset, and the table of the features' offsets directly follows the data."""
    start, size = struct.unpack_from("<QQ", data, 40)
    features = sum(bin(byte).count("1") for byte in data[72:104])
    with open(path, "wb") as file:
        file.write(data)
        file.seek(40)
        file.write(struct.pack("<Q", GAP))
        file.seek(GAP)
        file.write(data[start:start + size + 16 * features])


def main():
    kind, source, target = sys.argv[1:]
    with open(source, "rb") as file:
        data = file.read()
    if kind == "perf":
        make_perf(data, target)
    else:
        make_capture(data, target, kind == "index")


main()
