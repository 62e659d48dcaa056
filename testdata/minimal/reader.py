#!/usr/bin/env python3
"""Prints the records and samples of a capture, an object in JSON a line (SPEC.md, annex F.2).

    reader.py FILE

It reads all that a minimal capture has: files that are whole and not encrypted, side records of annex F.2, and
samples as SAMPLE_LAYOUT and COLUMNS, with all tokens. It skips other records, and stops at damage.
"""

import json, pathlib, struct, subprocess, sys, zlib

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
# The fields of records: numbers, and strings with a "$".
RECORDS = {
    1: ("CAPTURE", """start_time start_wall_time clock machine word_bits byte_order page_size cpus_possible cpus_online
        max_stack ring_size rings part recording$ hostname$ kernel_release$ kernel_version$ kernel_build_id$ tool_version$
        command_line$"""),
    2: ("EVENT", "id perf_type perf_config frequency period weight_unit name$"),
    3: ("MODULE", "id kind device_major device_minor inode inode_generation build_id$ path$"),
    5: ("SPACE", "time id parent origin pid namespace_pid machine word_bits byte_order code_mask data_mask vdso"),
    7: ("THREAD", "time id space origin tid namespace_tid parent comm$"),
    9: ("THREAD_EXEC", "time thread space"),
    11: ("MAP", "time space address size offset protection flags module"),
    12: ("UNMAP", "time space address size how"),
    15: ("END", "time reason samples exit_status"),
}


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        if size > len(self.data) - self.at:
            raise ValueError("ends within a field")
        self.at += size
        return self.data[self.at - size:self.at]

    def u8(self):
        return self.take(1)[0]

    def uv(self):
        value = 0
        for shift in range(0, 70, 7):
            byte = self.u8()
            value |= (byte & 127) << shift
            if byte < 128 and value <= MASK:
                return value
        raise ValueError("a number of more than 64 bits")

    def sv(self):
        value = self.uv()
        return value >> 1 ^ -(value & 1)

    def bytes(self):
        return self.take(self.uv())


def blocks(data):
    """The type and the raw bytes of each block."""
    def check(what, magic, at, size):
        content, crc = data[at:at + size - 4], data[at + size - 4:at + size]
        if content[:4] != struct.pack("<I", magic) or struct.pack("<I", zlib.crc32(content)) != crc:
            raise ValueError("not a %s at byte %d" % (what, at))
    check("file header", 0x184D2A5E, 0, 48)
    major, minor, features = struct.unpack("<HHI", data[16:24])
    if data[8:16] != b"\x89REEL\r\n\x1a" or features or major != 1 and (major, minor) != (0, 1):
        raise ValueError("not a capture, too new, or encrypted")
    at = 48
    while data[at:at + 4] != b"\x5c\x2a\x4d\x18":
        check("block", 0x184D2A5D, at, 80)
        kind, codec, flags, stored, raw = struct.unpack("<HBB4xII", data[at + 16:at + 32])
        payload = data[at + 80:at + 80 + stored]
        if codec == 1 and kind in (1, 2) and not flags & ~4:
            yield kind, subprocess.run(["zstd", "-dcq"], input=payload, stdout=subprocess.PIPE, check=True).stdout
        at += 80 + stored
    check("trailer", 0x184D2A5C, at, 32)


class Columns:
    """SPEC.md, sections 6.3 and 6.4."""

    def __init__(self, payload, layouts):
        cursor = Cursor(payload)
        self.count, self.layouts = cursor.uv(), layouts
        self.s = [Cursor(cursor.bytes()) for _ in range(16)]
        self.by_place, self.by_words, self.recent, self.dictionary, self.highs = {}, {}, [0] * 16, {}, {}
        self.threads, self.id, self.time = {}, 0, 0

    @staticmethod
    def h(x, y):
        z = x * GOLDEN & MASK ^ y * 0xC2B2AE3D27D4EB4F & MASK
        return ((z ^ z >> 29) * 0xBF58476D1CE4E5B9 & MASK) >> 48

    def word(self, b, a, key, above, second, stack):
        def represented(v):
            return v if not v >> 63 else a + (v & MASK >> 1) - ((v & 1 << 62) << 1)
        token = self.s[5].u8()
        at, words = self.h(above, key), self.h(above, second)
        w = (represented(self.by_place.get(at, 0)) if token == 0 else
             represented(self.by_words.get(words, 0)) if token == 1 else
             0 if token == 2 else
             a + b * ((self.s[6].u8() ^ 128) - 128) if token == 3 else
             a + b * self.s[7].sv() if token == 4 else
             self.dictionary.get(self.s[8].u8() + 256 * self.s[9].u8(), 0) if token == 5 else
             self.highs.get(self.s[10].u8(), 0) << 24 | sum(self.s[11 + i].u8() << 8 * i for i in range(3)) if token == 6 else
             int.from_bytes(self.s[14].take(b), "little") if token == 7 else self.recent[token - 8]) & MASK
        if token == 7:
            self.highs[((w >> 24) * GOLDEN & MASK) >> 56] = w >> 24
        if token > 4:
            self.recent.pop(token - 8 if token > 7 else 15)
            self.recent.insert(0, w)
            self.dictionary[(w * GOLDEN & MASK) >> 52] = w
        w &= (1 << 8 * b) - 1
        self.by_place[at] = self.by_words[words] = self.relative(w, a, b, stack)
        return w

    @staticmethod
    def relative(w, a, b, stack):
        of_stack = (w - stack[0]) & MASK <= stack[1] and (w - a) % b == 0
        return (w - a) & MASK | 1 << 63 if of_stack else w

    def __iter__(self):
        for _ in range(self.count):
            yield self.sample()
        if any(s.at < len(s.data) for s in self.s):
            raise ValueError("bytes of a stream are left")

    def sample(self):
        head = self.s[0]
        self.id = (self.id + head.sv()) & MASK
        sample = {"id": self.id, "thread": head.uv(), "cpu": head.uv(), "event": head.uv(), "weight": head.uv(),
                  "where": head.u8(), "flags": head.uv()}
        parts, n = head.uv(), head.uv()
        if parts > 31 or n > 16:
            raise ValueError("a newer version, or damaged")
        sample["steps"] = head.uv() if parts & 16 else 0
        self.time = sample["time"] = (self.time + self.s[1].sv()) & MASK
        old = self.threads.setdefault(sample["thread"], {"pc": 0, "layout": None, "values": [], "regions": [], "sp": 0})
        before = (old["regions"] + [(0, 0, b"")] * n)[:n]
        sample["regions"] = [self.place(*region) for region in before]
        stack = sample["regions"][0]["stack"] if n else (0, 0)
        sample["pc"], sample["registers"] = self.registers(old, stack) if parts & 1 else (0, [])
        for region, was in zip(sample["regions"], before):
            self.fill(region, was)
        old["regions"] = [(r["stack"][0], sum(r["stack"]), r["bytes"]) for r in sample["regions"]]
        for bit, name in (2, "kernel_chain"), (4, "frame_chain"):
            sample[name] = chain = []
            for _ in range(self.s[15].uv() if parts & bit else 0):
                chain.append((chain[-1] if chain else 0) + self.s[15].sv() & MASK)
        if parts & 8:
            first, second = (sample["kernel_chain"] + [0, 0])[:2]
            pc, old["sp"] = first + self.s[15].sv() & MASK, old["sp"] + self.s[15].sv() & MASK
            fp = old["sp"] + self.s[15].sv() & MASK
            sample["kernel_frame"] = [pc, old["sp"], fp, second + self.s[15].sv() & MASK]
        return sample

    def place(self, address, end, _):
        s = self.s[2]
        kind, words = s.u8(), s.u8()
        address, end = address + s.sv() & MASK, end + s.sv() & MASK
        size, at, missing = end - address & MASK, 0, []
        if words & 127 not in (4, 8) or size > 16 << 20 or address + size > MASK + 1:
            raise ValueError("an invalid region")
        for _ in range(s.uv()):
            at += s.uv()
            missing.append([at, s.uv()])
            at += missing[-1][1]
        return {"kind": kind, "words": words, "stack": (address, size), "missing": missing}

    def registers(self, old, stack):
        s, b, values = self.s[3], 8, []
        layout = s.uv()
        slots = self.layouts[layout]
        known = int.from_bytes(s.take((len(slots) + 7) // 8), "little")
        changed = int.from_bytes(s.take(len(slots) // 8 + 1), "little")
        was = old["values"] if old["layout"] == layout else [0] * len(slots)
        old_pc, pc = old["pc"], old["pc"]
        if changed >> len(slots):
            pc = self.word(b, 0, MASK, pc, 0, (0, 0))
        for i, (_, size) in enumerate(slots):
            value = was[i]
            if changed >> i & 1:
                value = self.word(size, stack[0], i, pc, value, stack)
            elif value and value == old_pc and pc < 1 << 8 * size:
                value = pc
            values.append(value if known >> i & 1 else 0)
        old.update(pc=pc, layout=layout, values=values)
        return pc, [[dwarf, size, values[i] if known >> i & 1 else None] for i, (dwarf, size) in enumerate(slots)]

    def fill(self, region, was):
        (address, size), b, order = region["stack"], region["words"] & 127, "big" if region["words"] & 128 else "little"
        data = region["bytes"] = bytearray(size)
        low, high = max(address, was[0]), min(address + size, was[0] + len(was[2]))
        if low < high:
            data[low - address:high - address] = was[2][low - was[0]:high - was[0]]
        first = min(-address % b, size)
        end = first + (size - first) // b * b
        data[end:] = self.s[14].take(size - end)

        def relative(at):
            w, a = int.from_bytes(data[at:at + b], order), address + at
            return 0 if at >= end else self.relative(w, a, b, region["stack"])
        left = (end - first) // b
        while left:
            left -= self.s[4].uv()
            for _ in range(self.s[4].uv() if left else 0):
                left -= 1
                at = first + left * b
                a = address + at
                w = self.word(b, a, a, relative(at + b), relative(at + 2 * b), region["stack"])
                data[at:at + b] = w.to_bytes(b, order)
        data[:first] = self.s[14].take(first)


def main():
    for kind, raw in blocks(pathlib.Path(sys.argv[1]).read_bytes()):
        cursor, layouts = Cursor(raw), {}
        while cursor.at < len(raw):
            tag, payload = cursor.uv(), Cursor(cursor.bytes())
            if tag >> 1 in RECORDS and kind == 1:
                name, fields = RECORDS[tag >> 1]
                values = {field.rstrip("$"): payload.bytes().decode("latin-1") if "$" in field else payload.uv()
                          for field in fields.split()}
                print(json.dumps({"record": name, **values}))
            elif tag >> 1 == 32:
                layout, count = payload.uv(), payload.uv()
                layouts[layout] = [(payload.uv(), payload.u8()) for _ in range(count)]
            elif tag >> 1 == 35:
                for sample in Columns(payload.data, layouts):
                    print(json.dumps({"record": "SAMPLE", **sample}, default=lambda data: data.hex()))
            elif tag & 1:
                raise ValueError("a critical record of id %d" % (tag >> 1))


if __name__ == "__main__":
    main()
