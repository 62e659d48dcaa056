"""Makes captures by hand, for tests: good ones, and bad ones of every kind.

Written from SPEC.md alone, apart from reel_reader.py, so that neither hides the other's mistakes. Headers take any
of their fields as keywords and get the right crc, unless crc is a keyword as well:

    reel = Reel()
    reel.block(SIDE, [record("CAPTURE", ...), record("MAP", 10, 1, 0x1000, 0x2000, 0, 5, 2, 1)])
    samples = Samples()
    samples.layout(1, [(7, 8), (16, 8)])
    samples.sample(1, 20, thread=1, pc=0x1234, layout=1, values=[0x7000, 0x1234],
                   regions=[Region(0x7000, b"stack")])
    reel.samples(samples)
    reel.block(SIDE, [record("END", 30, 0, 1, 0)])
    reel.index().trailer()
    reel.data
"""

import struct
import subprocess
import zlib

SIDE, SAMPLES, INDEX = 1, 2, 3
OPTIONAL, ENCRYPTED, SCRUBBED = 1, 2, 4
FILE_ID = bytes(range(0xA0, 0xB0))

CRITICAL = {"CAPTURE": 1, "SPACE": 5, "THREAD": 7, "THREAD_EXEC": 9, "MAP": 11, "UNMAP": 12,
            "ORIGIN": 21, "SAMPLE_LAYOUT": 32, "COLUMNS": 35, "LABELS": 38}
IDS = dict(CRITICAL, EVENT=2, MODULE=3, IMAGE=4, SPACE_EXIT=6, THREAD_COMM=8, THREAD_EXIT=10,
           KERNEL_SYMBOL=13, LOSS=14, END=15, CODE=16, JIT_SYMBOL=17, JIT_UNWIND=18, JIT_LINE=19,
           TRACE_STEPS=20, CGROUP=22, SPACE_CGROUP=23, FUNCTION=24, MARK=25, CODE_END=26, FRAMES=39, INDEX_ENTRY=48)


# ---- fields and records ------------------------------------------------------------------------

class Encoded(bytes):
    """Bytes that are written unchanged, without a size."""


def uv(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def sv(number):
    """For a number or difference modulo 2^64."""
    number = (number + (1 << 63)) % (1 << 64) - (1 << 63)
    return uv(number * 2 if number >= 0 else -number * 2 - 1)


def field(value):
    """An int is `uv`, a str `text`, bytes are `bytes`."""
    if isinstance(value, Encoded):
        return bytes(value)
    if isinstance(value, int):
        return uv(value)
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    return uv(len(value)) + value


def record(name, *values, critical=None):
    """name may be the id of an unknown record."""
    number = IDS.get(name, name)
    if critical is None:
        critical = name in CRITICAL
    payload = b"".join(map(field, values))
    return uv(number * 2 + bool(critical)) + uv(len(payload)) + payload


# ---- payloads ----------------------------------------------------------------------------------

def frame(raw):
    """A zstd frame that stores the bytes uncompressed, so it needs no program and never differs."""
    parts = [raw[i:i + 65536] for i in range(0, len(raw), 65536)] or [b""]
    blocks = [(len(part) << 3 | (i == len(parts) - 1)).to_bytes(3, "little") + part
              for i, part in enumerate(parts)]
    return struct.pack("<IBQ", 0xFD2FB528, 0xE0, len(raw)) + b"".join(blocks)


def zstd_frame(raw, *options):
    """A frame compressed by the program, which needs a file: from a pipe it would not know the size."""
    command = ["zstd", "-cq", "--stream-size=%d" % len(raw), *options]
    return subprocess.run(command, input=raw, stdout=subprocess.PIPE, check=True).stdout


def rle_frame(start, byte, count, window=7 << 3, dictionary=b"", stored=0):
    """A zstd frame of these bytes and then count times byte; small, however large its contents.

    window is its descriptor, dictionary the bytes of the id: 0, 1, 2 or 4 of them.  `stored`
    of the repeated bytes are not compressed.
    """
    blocks = [(len(start) << 3 | (not count)).to_bytes(3, "little") + start]
    while count:
        part = min(count, 65536, stored or count)
        count -= part
        if stored:
            stored -= part
            blocks.append((part << 3 | (not count)).to_bytes(3, "little") + bytes([byte]) * part)
            continue
        blocks.append((part << 3 | 2 | (not count)).to_bytes(3, "little") + bytes([byte]))
    size = len(start) + sum(int.from_bytes(b[:3], "little") >> 3 for b in blocks[1:])
    # Not a single segment, so that a small window limits the size of blocks: 128 KiB.
    head = struct.pack("<IBB", 0xFD2FB528, 0xC0 | (0, 1, 2, 0, 3)[len(dictionary)], window)
    return head + dictionary + struct.pack("<Q", size) + b"".join(blocks)


def skippable(data, magic=0x184D2A50):
    return struct.pack("<II", magic, len(data)) + data


# ---- headers -----------------------------------------------------------------------------------

def with_crc(data, crc):
    return data + struct.pack("<I", zlib.crc32(data) if crc is None else crc)


def file_header(magic=0x184D2A5E, size=40, signature=b"\x89REEL\r\n\x1a", major=1, minor=0,
                features=0, file_id=FILE_ID, reserved=0, crc=None):
    return with_crc(struct.pack("<II8sHHI16sI", magic, size, signature, major, minor, features,
                                file_id, reserved), crc)


def block_header(type, sequence, stored_size, raw_size, records, payload_crc, codec=1, flags=0,
                 expanded_size=0, time_first=0, time_last=0, magic=0x184D2A5D, size=72,
                 signature=b"RBLK", tag=FILE_ID[:4], reserved=bytes(12), crc=None):
    return with_crc(struct.pack("<II4s4sHBBIIIQQQII12s", magic, size, signature, tag, type, codec,
                                flags, sequence, stored_size, raw_size, expanded_size, time_first,
                                time_last, records, payload_crc, reserved), crc)


def trailer(index_offset=0, magic=0x184D2A5C, size=24, signature=b"REELEND\n", tag=FILE_ID[:4],
            crc=None):
    return with_crc(struct.pack("<II8sQ4s", magic, size, signature, index_offset, tag), crc)


# ---- samples -----------------------------------------------------------------------------------

# Streams of a COLUMNS, by SPEC.md's names.
STREAMS = """head time regions registers gaps tokens near far known_low known_high high low_0 low_1 low_2
    raw chains""".split()


def streams_record(count, streams, more=b""):
    """streams: bytes by name; missing ones are empty."""
    return record("COLUMNS", Encoded(uv(count) + b"".join(field(bytes(streams.get(name, b"")))
                                                          for name in STREAMS) + more))


def region_bytes(address=0, end=0, kind=0, words=8, missing=(), missing_count=None):
    """The place of a region, as the numbers in the file, which are differences."""
    out = bytes([kind, words]) + sv(address) + sv(end)
    out += uv(len(missing) if missing_count is None else missing_count)
    return out + b"".join(uv(gap) + uv(length) for gap, length in missing)


def chain_bytes(addresses):
    last = [0] + list(addresses)
    return uv(len(addresses)) + b"".join(sv(a - b) for a, b in zip(addresses, last))


def sample_record(id=1, time=1, thread=1, cpu=0, event=1, weight=1, where=1, flags=0, parts=0,
                  registers=b"", regions=(), region_count=None, chains=b"", gaps=b"", raw=b"",
                  more=b"", steps=0, **streams):
    """A COLUMNS of one sample, given by the numbers in the file.

    A region that is at most 7 bytes at 0 has no word: its bytes are in raw.  Others need gaps and tokens.
    """
    head = sv(id) + uv(thread) + uv(cpu) + uv(event) + uv(weight) + bytes([where]) + uv(flags)
    head += uv(parts) + uv(len(regions) if region_count is None else region_count)
    head += uv(steps) if parts & 16 else b""
    return streams_record(1, dict(head=head, time=sv(time), regions=b"".join(regions),
                                  registers=registers, chains=chains, gaps=gaps, raw=raw,
                                  **streams), more)


def layout_record(id, registers, count=None):
    out = uv(id) + uv(len(registers) if count is None else count)
    return record("SAMPLE_LAYOUT", Encoded(out + b"".join(uv(d) + bytes([s])
                                                          for d, s in registers)))


def labels_record(entries):
    """LABELS of a list of entries: how many samples without labels precede it, and its {key: value};
    a value is a text, or a pair of kind and number."""
    out = b""
    for unlabelled, labels in entries:
        out += uv(unlabelled) + uv(len(labels))
        for key, value in labels.items():
            kind, number = (0, None) if isinstance(value, bytes) else value
            out += uv(key * 4 + kind)
            out += field(value) if kind == 0 else sv(number) if kind == 2 else uv(number)
    return record("LABELS", Encoded(out))


def frames_record(entries):
    """FRAMES of a list of entries: how many samples without frames precede it, runtime, cut, how many frames back the
    one is that it has (0: none), and its others from the outermost on: (function, position), or for an entry (function,
    position, the difference to the previous native address or None)."""
    out = b""
    for bare, runtime, cut, outer, frames in entries:
        out += uv(bare) + uv(runtime * 2 + cut) + uv(outer) + uv(len(frames))
        for function, position, *native in frames:
            kind = 2 if native and native[0] is not None else len(native)
            out += uv(function * 4 + kind) + uv(position) + (sv(native[0]) if kind == 2 else b"")
    return record("FRAMES", Encoded(out))


def bits(flags):
    number = sum(bool(flag) << i for i, flag in enumerate(flags))
    return number.to_bytes((len(flags) + 7) // 8, "little")


class Region:
    """missing: (offset, size) pairs, where the data must be 0.

    stays: which of its words, from the last one down, are left as in the thread's previous region, whatever the
    data; without it, those that are equal.
    """

    def __init__(self, address, data, kind=0, missing=(), stays=None):
        self.address = address
        self.data = data
        self.kind = kind
        self.missing = missing
        self.stays = stays

    def place(self, old):
        missing = []
        end = 0
        for offset, size in self.missing:
            missing.append((offset - end, size))
            end = offset + size
        return region_bytes(self.address - old.address,
                            self.address + len(self.data) - old.address - len(old.data),
                            self.kind, 8, missing)

    def encode_bytes(self, old, streams):
        """Words that change, stored unchanged, with token 7; bytes outside of words around them."""
        start = min(-self.address % 8, len(self.data))
        end = start + (len(self.data) - start) // 8 * 8
        streams["raw"] += self.data[end:]
        count = (end - start) // 8
        words = [self.data[end - 8 * i - 8:end - 8 * i] for i in range(count)]
        stays = self.stays
        if stays is None:
            stays = [word == bytes(old.byte(self.address + end - 8 * i - 8 + j) for j in range(8))
                     for i, word in enumerate(words)]
        streams["gaps"] += gaps(stays)
        for word, same in zip(words, stays):
            if not same:
                streams["tokens"] += b"\7"
                streams["raw"] += word
        streams["raw"] += self.data[:start]

    def byte(self, address):
        offset = address - self.address
        return self.data[offset] if 0 <= offset < len(self.data) else 0


def gaps(stays):
    """How many words stay and how many change, alternating."""
    out = b""
    run, kind = 0, True
    for same in stays:
        if bool(same) != kind:
            out += uv(run)
            run, kind = 0, not kind
        run += 1
    return out + uv(run) if stays else out


class Samples:
    """The records of a sample block, made from samples with all their values."""

    def __init__(self):
        self.layout_records = []
        self.expanded = 0
        self.layouts = {}
        self.count = 0
        self.streams = {name: bytearray() for name in STREAMS}
        self.id = self.time = 0
        self.pcs = {}
        self.kernel_sps = {}
        self.registers = {}
        self.regions = {}
        self.labels = []
        self.unlabelled = 0
        self.frames = []  # entries of frames_record

    @property
    def records(self):
        labels = [labels_record(self.labels)] * bool(self.labels)
        frames = [frames_record(self.frames)] * bool(self.frames)
        return self.layout_records + labels + frames + ([streams_record(self.count, self.streams)] * bool(self.count))

    def layout(self, id, registers):
        self.layouts[id] = registers
        self.layout_records.append(layout_record(id, registers))

    def sample(self, id, time, thread=1, pc=0, layout=None, values=(), regions=(), kernel=None,
               frames=None, frame=None, cpu=0, event=1, weight=1, where=1, flags=0, labels=None):
        """values: of the layout's registers, None if unknown.  frame: the kernel's."""
        if labels:
            self.labels.append((self.unlabelled, labels))
        self.unlabelled = 0 if labels else self.unlabelled + 1
        parts = ((layout is not None) + 2 * (kernel is not None) + 4 * (frames is not None) +
                 8 * (frame is not None))
        streams = self.streams
        streams["head"] += sv(id - self.id) + b"".join(map(uv, (thread, cpu, event, weight)))
        streams["head"] += bytes([where]) + uv(flags) + uv(parts) + uv(len(regions))
        streams["time"] += sv(time - self.time)
        old = (self.regions.get(thread, []) + [Region(0, b"")] * len(regions))[:len(regions)]
        for region, before in zip(regions, old):
            streams["regions"] += region.place(before)
        if layout is not None:
            self.encode_registers(thread, pc, layout, values)
        for region, before in zip(regions, old):
            region.encode_bytes(before, streams)
        for chain in (kernel, frames):
            if chain is not None:
                streams["chains"] += chain_bytes(chain)
        if frame is not None:
            streams["chains"] += self.encode_frame(thread, frame, kernel or [])
        self.expanded += sum(len(region.data) for region in regions)
        self.id, self.time = id, time
        self.count += 1
        self.regions[thread] = list(regions)

    def encode_frame(self, thread, frame, chain):
        sp = frame["sp"]
        old = self.kernel_sps.get(thread, 0)
        self.kernel_sps[thread] = sp
        return (sv(frame["pc"] - (chain[0] if chain else 0)) + sv(sp - old) + sv(frame["fp"] - sp) +
                sv(frame["return_address"] - (chain[1] if len(chain) > 1 else 0)))

    def encode_registers(self, thread, pc, layout, values):
        last_layout, last = self.registers.get(thread, (None, ()))
        if last_layout != layout:
            last = [0] * len(values)
        pc_before = self.pcs.get(thread, 0)
        self.pcs[thread] = pc
        changed = []
        for value, before, (_, size) in zip(values, last, self.layouts[layout]):
            moved = before and before == pc_before and pc < 1 << 8 * size
            changed.append(value is not None and value != (pc if moved else before or 0))
        self.registers[thread] = layout, values
        self.streams["registers"] += uv(layout) + bits([v is not None for v in values])
        self.streams["registers"] += bits(changed + [pc != pc_before])
        words = [(pc, 8)] * (pc != pc_before)
        words += [(v, size) for v, c, (_, size) in zip(values, changed, self.layouts[layout]) if c]
        for word, size in words:
            self.streams["tokens"] += b"\7"
            self.streams["raw"] += word.to_bytes(size, "little")


# ---- a file ------------------------------------------------------------------------------------

class Reel:
    """A capture under construction; its methods return it."""

    def __init__(self, **header):
        self.data = file_header(**header)
        self.tag = header.get("file_id", FILE_ID)[:4]
        self.blocks = []
        self.index_offset = 0

    def append(self, data):
        self.data += data
        return self

    def block(self, type, content, raw=None, payload=None, compress=frame, **header):
        """content: records.  raw: bytes that replace the joined records.  payload: replaces the frame."""
        raw = b"".join(content) if raw is None else raw
        payload = compress(raw) if payload is None else payload
        fields = dict(type=type, sequence=len(self.blocks), stored_size=len(payload),
                      raw_size=len(raw), records=len(content), payload_crc=zlib.crc32(payload),
                      tag=self.tag)
        fields.update(header)
        self.blocks.append(dict(fields, offset=len(self.data)))
        return self.append(block_header(**fields) + payload)

    def side(self, *records, **header):
        return self.block(SIDE, records, **header)

    def samples(self, samples, **header):
        header.setdefault("expanded_size", samples.expanded)
        return self.block(SAMPLES, samples.records, **header)

    def entries(self):
        return [record("INDEX_ENTRY", *(block.get(name, 0) for name in (
            "offset", "type", "sequence", "stored_size", "raw_size", "expanded_size",
            "time_first", "time_last", "records"))) for block in self.blocks]

    def index(self, entries=None, **header):
        self.index_offset = len(self.data)
        return self.block(INDEX, self.entries() if entries is None else entries, **header)

    def trailer(self, **fields):
        fields.setdefault("index_offset", self.index_offset)
        return self.append(trailer(tag=self.tag, **fields))
