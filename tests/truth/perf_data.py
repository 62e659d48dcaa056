"""Reads perf.data: the samples with their registers and stacks, and the mappings at each sample's time.

Written from perf's own description of the format (tools/perf/Documentation/perf.data-file-format.txt,
include/uapi/linux/perf_event.h), for tests: independent of the importer that it judges. x86_64's registers only.

    perf_data.py FILE    status 1 if a mapping is marked with a build-id that perf did not request (see perf.sh)
"""

import collections
import ctypes
import struct
import sys

(IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM, RAW, BRANCH, REGS, STACK, _, _, IDENTIFIER) = (1 << n for n in range(17))
MMAP, COMM, EXIT, FORK, SAMPLE, MMAP2 = 1, 3, 4, 7, 9, 10
HEADER_ATTR, HEADER_FEATURE, COMPRESSED, COMPRESSED2 = 64, 80, 81, 83
MISC_CPUMODE, MISC_KERNEL, MISC_USER, MISC_COMM_EXEC, MISC_DATA, MISC_BUILD_ID = 7, 1, 2, 1 << 13, 1 << 13, 1 << 14
CONTEXT_KERNEL, CONTEXT_USER, CONTEXT_MAX = (1 << 64) - 128, (1 << 64) - 512, (1 << 64) - 4095

# enum perf_event_x86_regs, as the psABI's DWARF numbers (16 is the return address column: pc)
X86_REGISTERS = {0: 0, 1: 3, 2: 2, 3: 1, 4: 4, 5: 5, 6: 6, 7: 7, 8: 16, **{16 + n: 8 + n for n in range(8)}}

Attr = collections.namedtuple("Attr", "sample_type regs_user stack_user id_all build_id")
Sample = collections.namedtuple("Sample", "time pid tid kernel user_chain odd_marker registers stack_address stack")
Mapping = collections.namedtuple("Mapping", "start end offset path executable")


class Malformed(Exception):
    pass


class CutShort(Malformed):
    """Compressed records that end within another one: perf (zstd_compress_stream_to_records in tools/perf/util/zstd.c) does not check
    whether its last flush had room for the rest."""


def parse_attr(data):
    sample_type, _, flags = struct.unpack_from("<QQQ", data, 24)
    size = struct.unpack_from("<I", data, 4)[0]
    regs, stack = struct.unpack_from("<QI", data, 80) if size >= 96 else (0, 0)
    return Attr(sample_type, regs, stack, bool(flags >> 18 & 1), bool(flags >> 34 & 1))


def records(data):
    at = 0
    while at + 8 <= len(data):
        kind, misc, size = struct.unpack_from("<IHH", data, at)
        if size < 8 or at + size > len(data):
            raise (CutShort if size >= 8 else Malformed)(f"record at {at} of {size} bytes")
        yield kind, misc, data[at + 8:at + size]
        at += size
    if at != len(data):
        raise Malformed(f"{len(data) - at} bytes after the last record")


class Buffer(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_void_p), ("size", ctypes.c_size_t), ("at", ctypes.c_size_t)]


def unpacked(packed):
    """The contents of zstd frames. perf flushes its last frame and never ends it, which the program zstd rejects."""
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_createDStream.restype = ctypes.c_void_p
    zstd.ZSTD_decompressStream.restype = ctypes.c_size_t
    zstd.ZSTD_decompressStream.argtypes = (ctypes.c_void_p, ctypes.POINTER(Buffer), ctypes.POINTER(Buffer))
    zstd.ZSTD_freeDStream.argtypes = (ctypes.c_void_p,)
    stream, chunk, parts = zstd.ZSTD_createDStream(), ctypes.create_string_buffer(1 << 20), []
    source = Buffer(ctypes.cast(ctypes.c_char_p(packed), ctypes.c_void_p), len(packed), 0)
    while True:
        target = Buffer(ctypes.addressof(chunk), len(chunk), 0)
        result = zstd.ZSTD_decompressStream(stream, ctypes.byref(target), ctypes.byref(source))
        if zstd.ZSTD_isError(ctypes.c_size_t(result)):
            raise Malformed("compressed records")
        parts.append(chunk.raw[:target.at])
        if source.at == len(packed) and target.at < len(chunk):
            break
    zstd.ZSTD_freeDStream(stream)
    return b"".join(parts)


class File:
    def __init__(self, path):
        with open(path, "rb") as file:
            data = memoryview(file.read())
        magic, header_size = struct.unpack_from("<8sQ", data)
        if magic != b"PERFILE2":
            raise Malformed("not a little-endian perf.data")
        self.attrs, self.by_id, self.raw_attrs = [], {}, []
        if header_size == 16:
            body = data[16:]
        else:
            attr_size, attrs_at, attrs_size, data_at, data_size = struct.unpack_from("<QQQQQ", data, 16)
            body = data[data_at:data_at + data_size]
            for at in range(attrs_at, attrs_at + attrs_size, attr_size):
                ids_at, ids_size = struct.unpack_from("<QQ", data, at + attr_size - 16)
                self.add_attr(data[at:at + attr_size - 16], data[ids_at:ids_at + ids_size])
        self.body = body
        self.mappings = {}

    def add_attr(self, attr, ids):
        self.raw_attrs.append((bytes(attr), bytes(ids)))
        self.attrs.append(parse_attr(bytes(attr)))
        for number in struct.unpack(f"<{len(ids) // 8}Q", ids):
            self.by_id[number] = self.attrs[-1]

    def all_records(self):
        """In the file's order. Compressed records are parts of zstd frames, in which records may continue from one to the next."""
        packed = []
        for kind, misc, payload in records(self.body):
            if kind == HEADER_ATTR:
                size = struct.unpack_from("<I", payload, 4)[0]
                self.add_attr(payload[:size], payload[size:])
            elif kind == COMPRESSED:
                packed.append(bytes(payload))
            elif kind == COMPRESSED2:
                packed.append(bytes(payload[8:8 + struct.unpack_from("<Q", payload)[0]]))
            else:
                yield kind, misc, payload
        if packed:
            yield from records(memoryview(unpacked(b"".join(packed))))

    def falsely_marked(self):
        marked = [misc & MISC_BUILD_ID for kind, misc, _ in self.all_records() if kind == MMAP2]
        return any(marked) and not any(attr.build_id for attr in self.attrs)

    def last_execs(self):
        """The time of each process's last exec."""
        return {struct.unpack_from("<I", payload)[0]: time for time, kind, misc, payload in self.ordered()
                if kind == COMM and misc & MISC_COMM_EXEC}

    def write_without_history(self, path):
        """An ordinary file of the same records, without the mappings that processes had, or inherited, before their last
        exec."""
        execs, kept = self.last_execs(), []
        for kind, misc, payload in self.all_records():
            if kind in (MMAP, MMAP2, FORK):
                pid, other = struct.unpack_from("<II", payload)
                if (kind != FORK or pid != other) and self.time_of(kind, payload) < execs.get(pid, 0):
                    continue
            if kind != HEADER_FEATURE:
                kept.append(struct.pack("<IHH", kind, misc, 8 + len(payload)) + bytes(payload))
        attr_size = max(len(attr) for attr, _ in self.raw_attrs)
        ids_at, attrs = 104, b""
        for attr, ids in self.raw_attrs:
            attrs += attr.ljust(attr_size, b"\0") + struct.pack("<QQ", ids_at, len(ids))
            ids_at += len(ids)
        with open(path, "wb") as file:
            file.write(struct.pack("<8s8Q32x", b"PERFILE2", 104, attr_size + 16, ids_at, len(attrs), ids_at + len(attrs),
                                   sum(map(len, kept)), 0, 0))
            file.writelines(ids for _, ids in self.raw_attrs)
            file.write(attrs)
            file.writelines(kept)

    def attr_of(self, kind, payload):
        first = self.attrs[0]
        if not first.sample_type & IDENTIFIER:
            return first
        if kind == SAMPLE:
            return self.by_id.get(struct.unpack_from("<Q", payload)[0], first)
        return self.by_id.get(struct.unpack_from("<Q", payload, len(payload) - 8)[0], first) if first.id_all else first

    def time_of(self, kind, payload):
        """The time follows the fields of every record, as sample_id_all defines; in a sample it is one of them."""
        attr = self.attr_of(kind, payload)
        if not attr.sample_type & TIME:
            raise Malformed("no times")
        if kind == SAMPLE:
            before = IDENTIFIER, IP, TID
            return struct.unpack_from("<Q", payload, 8 * sum(bool(attr.sample_type & bit) for bit in before))[0]
        behind = TIME, ID, STREAM, CPU, IDENTIFIER
        return struct.unpack_from("<Q", payload, len(payload) - 8 * sum(bool(attr.sample_type & bit) for bit in behind))[0]

    def ordered(self):
        """(time, kind, misc, payload) by time, the file's order among equal ones; records that perf made from /proc
        have time 0."""
        known = (MMAP, MMAP2, COMM, FORK, EXIT, SAMPLE)
        listed = [(k, m, p) for k, m, p in self.all_records() if k in known]
        return sorted(((self.time_of(k, p), k, m, p) for k, m, p in listed), key=lambda r: r[0])

    def samples(self):
        """Each sample in the order of time. While the caller handles one, `mapping` answers for that moment."""
        for time, kind, misc, payload in self.ordered():
            if kind == SAMPLE:
                yield self.parse_sample(time, payload)
            elif kind in (MMAP, MMAP2):
                self.add_mapping(kind, misc, payload)
            elif kind == COMM:
                pid, = struct.unpack_from("<I", payload)
                if misc & MISC_COMM_EXEC:
                    self.mappings[pid] = []
            elif kind == FORK:
                pid, parent = struct.unpack_from("<II", payload)
                if pid != parent:
                    self.mappings[pid] = list(self.mappings.get(parent, ()))

    def add_mapping(self, kind, misc, payload):
        pid, _, start, size, offset = struct.unpack_from("<IIQQQ", payload)
        at, protection = 32, 0 if misc & MISC_DATA else 4
        if kind == MMAP2:
            at, protection = 64, struct.unpack_from("<I", payload, 56)[0]
        if misc & MISC_CPUMODE == MISC_KERNEL:
            return
        path = bytes(payload[at:]).split(b"\0")[0].decode(errors="surrogateescape")
        self.mappings.setdefault(pid, []).append(Mapping(start, start + size, offset, path, bool(protection & 4)))

    def mapping(self, pid, address):
        """The latest mapping of that address counts, whether code or not."""
        for mapping in reversed(self.mappings.get(pid, ())):
            if mapping.start <= address < mapping.end:
                return mapping
        return None

    def parse_sample(self, time, payload):
        attr, at = self.attr_of(SAMPLE, payload), 0

        def number(form="<Q", size=8):
            nonlocal at
            at += size
            return struct.unpack_from(form, payload, at - size)

        have = attr.sample_type
        pid = tid = stack_address = 0
        odd_marker = False
        kernel, user, registers, stack = [], [], None, b""
        for bit in (IDENTIFIER, IP):
            if have & bit:
                number()
        if have & TID:
            pid, tid = number("<II")
        for bit in (TIME, ADDR, ID, STREAM, CPU, PERIOD):
            if have & bit:
                number()
        if have & READ or have & BRANCH:
            raise Malformed("samples with counters or branches are not read here")
        if have & CALLCHAIN:
            count, = number()
            where = None
            for address in struct.unpack_from(f"<{count}Q", payload, at):
                if address >= CONTEXT_MAX:
                    where = {CONTEXT_KERNEL: kernel, CONTEXT_USER: user}.get(address)
                    odd_marker |= where is None
                elif where is not None:
                    where.append(address)
            at += 8 * count
        if have & RAW:
            size, = number("<I", 4)
            at += size
        if have & REGS:
            abi, = number()
            if abi:
                registers = {}
                for bit in range(64):
                    if attr.regs_user >> bit & 1:
                        value, = number()
                        if bit in X86_REGISTERS:
                            registers[X86_REGISTERS[bit]] = value
        if have & STACK:
            size, = number()
            if size:
                stack = bytes(payload[at:at + size])
                at += size
                dynamic, = number()
                stack = stack[:dynamic]
                stack_address = registers[7] if registers else 0
        return Sample(time, pid, tid, kernel, user, odd_marker, registers, stack_address, stack)


if __name__ == "__main__":
    try:
        sys.exit(1 if File(sys.argv[1]).falsely_marked() else 0)
    except CutShort as error:
        print(error)
        sys.exit(3)
