#!/usr/bin/env python3
# run.sh: thorough longer
# checks: format
"""Changes encrypted captures as an attacker would who can write to them, but has no secret key.

    test-encryption-attacks.py [NAME...]    attacks whose name contains one of NAME
    LONG=1                                  all of them, on each capture, and with each command
    O=DIR                                   the object directory (build)

All public data is fixed again: checksums, sizes, sequence, the trailer.  After each attack `stackreel dump` with the
secret key and reel_reader.py (and, after one of each kind, `report` and `info`) must report a new problem, and fail;
or else they must read exactly what was recorded: those cases are listed.  They may never read anything else.  From a
capture without END, as left by a killed recorder, less may be read, from the beginning on, as its end is unknown.
"""

import collections
import concurrent.futures
import ctypes
import functools
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "reader")]
import counting
import reel_builder as b
import reel_cipher
import reel_reader

OBJECTS = os.environ.get("O", "build")
TOOL = os.path.join(OBJECTS, "stackreel")
GENERATOR = os.path.join(OBJECTS, "tests", "format", "encrypted_captures")
LONG = bool(os.environ.get("LONG"))

SIDE, SAMPLES, INDEX, KEYS = 1, 2, 3, 4
FIELDS = [("magic", 0, 4), ("frame size", 4, 4), ("signature", 8, 4), ("file tag", 12, 4),
          ("type", 16, 2), ("codec", 18, 1), ("flags", 19, 1), ("sequence", 20, 4),
          ("stored size", 24, 4), ("raw size", 28, 4), ("expanded size", 32, 8),
          ("time first", 40, 8), ("time last", 48, 8), ("records", 56, 4),
          ("payload crc", 60, 4), ("reserved", 64, 12), ("crc", 76, 4)]


# ---- a file taken apart --------------------------------------------------------------------------

def with_crc(data):
    return bytes(data[:-4]) + struct.pack("<I", zlib.crc32(bytes(data[:-4])))


class Block:
    """Any change gives a new one, with right checksums."""

    def __init__(self, header, payload):
        self.header = header
        self.payload = payload
        _, _, _, _, self.type, self.codec, self.flags, self.sequence = struct.unpack_from(
            "<II4s4sHBBI", header)

    def put(self, at, data, fix=True):
        header = bytearray(self.header)
        header[at:at + len(data)] = data
        return Block(with_crc(header) if fix else bytes(header), self.payload)

    def numbered(self, sequence):
        return self.put(20, struct.pack("<I", sequence & 0xFFFFFFFF))

    def typed(self, type, flags):
        return self.put(16, struct.pack("<HBB", type, self.codec, flags))

    def holding(self, payload):
        header = struct.pack("<I", len(payload))
        return Block(self.put(24, header).put(60, struct.pack("<I", zlib.crc32(payload))).header,
                     payload)

    def flipped(self, at, bit, fix=True):
        return self.put(at, bytes([self.header[at] ^ 1 << bit]), fix)

    def size(self):
        return len(self.header) + len(self.payload)


class File:
    def __init__(self, header, blocks, index_offset=None):
        self.header = header
        self.blocks = blocks
        self.index_offset = index_offset

    @staticmethod
    def parse(data):
        blocks = []
        at = 48
        while len(data) - at >= 80:
            size, = struct.unpack_from("<I", data, at + 24)
            blocks.append(Block(data[at:at + 80], data[at + 80:at + 80 + size]))
            at += 80 + size
        rest = data[at:]
        return File(data[:48], blocks, struct.unpack_from("<Q", rest, 16)[0] if rest else None)

    def tag(self):
        return self.header[24:28]

    def trailer(self):
        return b"" if self.index_offset is None else b.trailer(self.index_offset, tag=self.tag())

    def data(self):
        return (self.header + b"".join(k.header + k.payload for k in self.blocks)
                + self.trailer())

    def offset(self, i):
        return len(self.header) + sum(block.size() for block in self.blocks[:i])

    def but(self, blocks, index_offset="as it was"):
        return File(self.header, blocks,
                    self.index_offset if index_offset == "as it was" else index_offset)

    def headed(self, at, data):
        """Also gives tags and trailer the new file id."""
        header = bytearray(self.header)
        header[at:at + len(data)] = data
        tag = bytes(header[24:28])
        return File(with_crc(header), [block.put(12, tag) for block in self.blocks],
                    self.index_offset)

    def replaced(self, i, *blocks):
        return self.but(self.blocks[:i] + list(blocks) + self.blocks[i + 1:])


# Attacks that are tried with every end in any case.
MANY_ENDS = "cut", "fill its place with keys", "fill its place with an unknown one", "splice with"


# ---- attacks -------------------------------------------------------------------------------------

def renumbered(blocks, first=0):
    """From block number `first` on, as if none was missing."""
    return blocks[:first] + [k.numbered(i) for i, k in enumerate(blocks[first:], first)]


def plain(file, type, sequence, records, flags=0):
    """A block that is not encrypted."""
    payload = b.frame(b"".join(records))
    header = b.block_header(type, sequence, len(payload), sum(map(len, records)), len(records),
                            zlib.crc32(payload), flags=flags, tag=file.tag())
    return Block(header, payload)


def forged_end(file, sequence, flags=0):
    return plain(file, SIDE, sequence, [b.record("END", 1, 0, 0, 0, 1, 1)], flags)


def garbage(block, size):
    """A payload of the right form that was never encrypted."""
    return block.holding(struct.pack("<II", 0x184D2A5B, size - 8) + bytes(size - 8))


def forged_index(file, blocks):
    """An unencrypted index that names these blocks."""
    entries = []
    offset = 48
    for k in blocks:
        stored, raw, expanded = struct.unpack_from("<IIQ", k.header, 24)
        entries.append(b.record("INDEX_ENTRY", offset, k.type, k.sequence, stored, raw, expanded,
                                0, 0, 0))
        offset += k.size()
    return plain(file, INDEX, len(blocks), entries), offset


def ends(file, few):
    """The file with each end that fits the changes to its blocks, or only two."""
    blocks = file.blocks
    yield "", file
    if file.index_offset is None:
        keys = [blocks[0].numbered(len(blocks))] if blocks else []
        yield ", trailer", file.but(blocks, 0)
        yield ", keys and trailer", file.but(blocks + keys, 0)
        return
    last = len(blocks) - 1
    yield ", trailer right", file.but(blocks, file.offset(last))
    if few:
        return
    inner = blocks[:-1]
    yield ", no index", file.but(inner, 0)
    index, offset = forged_index(file, inner)
    yield ", plain index", file.but(inner + [index], offset)
    yield ", nor keys", file.but(inner[:-1], 0)
    yield ", no trailer", file.but(blocks, None)
    yield ", neither keys nor trailer", file.but(inner[:-1], None)


def of_order(file, i, other):
    """Blocks omitted, repeated, moved, and replacements for them."""
    blocks = file.blocks
    block, n = blocks[i], len(blocks)
    rest = blocks[i + 1:]
    if i + 1 < n:
        swapped = blocks[:i] + [blocks[i + 1], block] + blocks[i + 2:]
        yield "swap", file.but(swapped)
        yield "swap, renumber", file.but(renumbered(swapped))
    yield "repeat", file.but(blocks[:i + 1] + blocks[i:])
    yield "repeat, renumber", file.but(renumbered(blocks[:i + 1] + blocks[i:]))
    yield "repeat at the end", file.but(blocks + [block.numbered(n)])
    yield "cut", file.but(blocks[:i] + rest)
    yield "cut, renumber", file.but(renumbered(blocks[:i] + rest, i))
    yield "cut it and all behind", file.but(blocks[:i])
    keys = blocks[0]
    for what, filler in (
            ("keys", keys),
            ("the block before", blocks[i - 1]),
            ("a plain block", forged_end(file, 0)),
            ("an optional one", forged_end(file, 0, b.OPTIONAL)),
            ("an unknown one", plain(file, 99, 0, [], b.OPTIONAL)),
            ("an encrypted unknown one", garbage(block.typed(99, 3), 200)),
            ("a plain index", plain(file, INDEX, 0, []))):
        yield "fill its place with " + what, file.replaced(i, filler.numbered(block.sequence))
    if i < len(other.blocks):
        there = other.blocks[i].put(12, file.tag())
        yield "splice", file.replaced(i, there)
        spliced = file.replaced(i, there).blocks
        theirs = other.blocks[0].put(12, file.tag())
        yield "splice with keys", file.but([theirs.numbered(k.sequence) if k.type == KEYS else k
                                            for k in spliced])
    for what, new in (("a plain END", forged_end(file, block.sequence)),
                      ("an optional END", forged_end(file, block.sequence, b.OPTIONAL)),
                      ("plain samples", plain(file, SAMPLES, block.sequence, [])),
                      ("keys", keys.numbered(block.sequence))):
        more = blocks[:i] + [new] + blocks[i:]
        yield "insert " + what, file.but(more)
        yield "insert %s, renumber" % what, file.but(renumbered(more, i))


def of_block(file, i):
    """A block with changed contents."""
    block = file.blocks[i]
    for name, at, size in FIELDS:
        for byte, bit in {(at, 0), (at + size - 1, 7)}:
            yield "flip %s" % name, file.replaced(i, block.flipped(byte, bit, name != "crc"))
    yield "flip payload crc alone", file.replaced(i, block.flipped(60, 3))
    for at in sorted({0, 4, 8, 31, 32, 51, 52, 68, 69, len(block.payload) - 1}):
        payload = bytearray(block.payload)
        if at < len(payload):
            payload[at] ^= 4
            yield "flip payload", file.replaced(i, block.holding(bytes(payload)))
            yield "rot payload", file.replaced(i, Block(block.header, bytes(payload)))
    for type in (0, 1, 2, 3, 4, 5, 99, 0xFFFF):
        for flags in {block.flags, block.flags ^ b.ENCRYPTED, b.OPTIONAL} | (
                {0, b.OPTIONAL | b.ENCRYPTED, b.SCRUBBED, b.OPTIONAL | 0x80} if LONG else set()):
            if (type, flags) != (block.type, block.flags):
                yield "retype %d, flags %d" % (type, flags), file.replaced(
                    i, block.typed(type, flags))
    for codec in (0, 2, 255):
        for flags in (block.flags, block.flags | b.OPTIONAL, b.OPTIONAL):
            yield "codec", file.replaced(i, block.put(18, bytes([codec, flags])))
    yield "no payload", file.replaced(i, block.holding(b""))
    yield "no payload, no flags", file.replaced(i, block.holding(b"").put(19, b"\0"))
    yield "garbage", file.replaced(i, garbage(block, len(block.payload)))
    yield "short", file.replaced(i, block.holding(block.payload[:-1]))
    yield "long", file.replaced(i, block.holding(block.payload + b"\0"))


def of_keys(file, sealed):
    """Blocks of keys with changed contents: anyone can make keys sealed to other recipients."""
    first = file.blocks[0]
    raw = reel_reader.decompress(first.payload, struct.unpack_from("<I", first.header, 28)[0])
    changed = bytearray(raw)
    changed[-1] ^= 1

    def with_keys(raw, records, which):
        payload = b.frame(bytes(raw))
        new = Block(first.put(28, struct.pack("<I", len(raw)))
                    .put(56, struct.pack("<I", records)).header, b"").holding(payload)
        return file.but([new.numbered(k.sequence) if k.type == KEYS and i in which else k
                         for i, k in enumerate(file.blocks)])

    everywhere = range(len(file.blocks))
    for name, which in (("first", {0}), ("last", set(everywhere) - {0}), ("all", everywhere)):
        yield "keys of ours, %s" % name, with_keys(raw[:-80] + sealed, 1, which)
        yield "keys changed, %s" % name, with_keys(changed, 1, which)
        yield "keys added, %s" % name, with_keys(bytes(raw) + b.record(56, 2, b"x" * 8, b"y"),
                                                 2, which)
        yield "keys of another kind, %s" % name, with_keys(b.record(56, 7, b"x" * 8, b"y"), 1,
                                                           which)
        yield "no keys, %s" % name, with_keys(b"", 0, which)
        yield "unknown in keys, %s" % name, with_keys(bytes(raw) + b.record(57, b"x"), 2, which)
        yield "critical in keys, %s" % name, with_keys(
            bytes(raw) + b.record(57, b"x", critical=True), 2, which)
        yield "keys packed otherwise, %s" % name, with_keys(raw, 1, which)


def of_file(file):
    for name, at, data in (("not encrypted", 20, b"\0"), ("another feature", 20, b"\3"),
                           ("major", 16, b"\0"), ("major", 16, b"\2"), ("minor", 18, b"\2"),
                           ("file id", 24, b"\0"), ("file id", 39, b"\0")):
        yield name, file.headed(at, data)
    for i in range(4):
        yield "reserved", file.headed(40 + i, b"\1")
    header = bytearray(file.header)
    header[24] ^= 1
    yield "file id alone", File(with_crc(header), file.blocks, file.index_offset)
    optional = file.headed(20, b"\0")
    for name, change in (("optional", lambda k: k.put(19, bytes([k.flags | b.OPTIONAL]))),
                         ("unknown", lambda k: k.typed(99, b.OPTIONAL | b.ENCRYPTED)),
                         ("of codec 9", lambda k: k.put(18, bytes([9, b.OPTIONAL
                                                                   | b.ENCRYPTED])))):
        yield "not encrypted, all " + name, optional.but([change(k) for k in optional.blocks])


class Bytes:
    """Contents that are not a File."""

    def __init__(self, data):
        self.bytes = data

    def data(self):
        return self.bytes


def of_trailer(file):
    data = file.data()
    places = [file.offset(i) for i in range(len(file.blocks) + 1)]
    for offset in [0, 1, 48, len(data), (1 << 64) - 1] + places:
        if offset != file.index_offset:
            yield "trailer's offset", file.but(file.blocks, offset)
    for i, at in enumerate(places):
        trailer = b.trailer(0, tag=file.tag())
        yield "cut at a block", Bytes(data[:at])
        yield "cut in a header", Bytes(data[:at + 20])
        yield "cut at a block, trailer", Bytes(data[:at] + trailer)
        yield "trailer between", Bytes(data[:at] + trailer + data[at:])
        yield "junk between", Bytes(data[:at] + b"junk" + data[at:])
        yield "plain block behind the trailer", Bytes(
            data + forged_end(file, len(file.blocks) + i).header)
    for more in (b"x", data, b.trailer(0, tag=file.tag())):
        yield "more behind it", Bytes(data + more)
    for i in range(32 if file.index_offset is not None else 0):
        changed = bytearray(data)
        changed[-1 - i] ^= 1
        yield "flip trailer", Bytes(bytes(changed))


def attacks(file, other, sealed):
    """(name, the file's contents)."""
    for i in range(len(file.blocks)):
        for name, changed in of_order(file, i, other):
            for end, whole in ends(changed, not LONG and not name.startswith(MANY_ENDS)):
                yield "block %d: %s%s" % (i, name, end), whole.data()
        for name, changed in of_block(file, i):
            yield "block %d: %s" % (i, name), changed.data()
    for name, changed in of_keys(file, sealed):
        yield name, changed.data()
    for make in of_file, of_trailer:
        for name, changed in make(file):
            yield name, changed.data()


# ---- reading -------------------------------------------------------------------------------------

# The same payloads repeat.
reel_reader.decompress = functools.lru_cache(maxsize=None)(reel_reader.decompress)

Read = collections.namedtuple("Read", "status problems records")


def general(message, path):
    """A problem without its numbers, which depend on the rest of the file."""
    return re.sub(r"[0-9]+", "N", message.replace(path, "FILE"))


def content(record):
    """A record without its place; None if it was not recorded."""
    if record["record"] in ("KEY", "INDEX_ENTRY"):
        return None
    kept = {key: value for key, value in record.items() if key not in ("block", "block_offset")}
    return json.dumps(kept, sort_keys=True)


def contents(records):
    """Without the contents of blocks of keys."""
    records = list(records)
    keys = {r["block_offset"] for r in records if r["record"] == "KEY"}
    return tuple(filter(None, (content(r) for r in records if r["block_offset"] not in keys)))


def run(command, path, key):
    done = subprocess.run([TOOL, *command, "--identity", key, path], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    return (done.returncode, done.stdout.decode(errors="surrogateescape"),
            done.stderr.decode(errors="surrogateescape"))


def read_dump(path, key):
    status, out, err = run(["dump", "--json"], path, key)
    problems = {general(line, path) for line in err.splitlines()}
    return Read(status, problems, contents(map(json.loads, out.splitlines())))


def read_report(path, key):
    status, out, err = run(["report"], path, key)
    lines = [line.replace(path, "FILE") for line in out.splitlines()]
    problems = {line for line in lines if line.startswith("# problem")}
    return Read(status, {general(line, path) for line in problems | set(err.splitlines())},
                tuple(line for line in lines if line not in problems))


def read_info(path, key):
    status, out, err = run(["info"], path, key)
    problems = out.partition("\nProblems of the file\n")[2] + err
    return Read(status, {general(line.strip(), path) for line in problems.splitlines()}, ())


def read_python(path, identity):
    problems = []
    records = []
    with open(path, "rb") as file:
        try:
            capture = reel_reader.Capture(io.BytesIO(file.read()), problems.append,
                                          identity=identity)
            for block, record in capture.all_records():
                records.append(json.loads(json.dumps(reel_reader.printable(block, record))))
        except reel_reader.ReelError as error:
            problems.append(error)
    return Read(1 if problems else 0, {general(p.message, path) for p in problems},
                contents(records))


READERS = {"dump": read_dump, "report": read_report, "info": read_info,
           "reel_reader.py": read_python}


def read_all(path, key, names=READERS):
    identity = worker_identity(key)
    return {name: READERS[name](path, identity if name == "reel_reader.py" else key)
            for name in names}


def judge(before, after, is_finished):
    """(result, problem with it)."""
    reported = {name for name in after if after[name].problems - before[name].problems}
    wrong = ["%s: status %d" % (name, read.status) for name, read in after.items()
             if not 0 <= read.status <= 2]
    for name in ("dump", "reel_reader.py"):
        foreign = set(after[name].records) - set(before[name].records)
        if foreign:
            wrong.append("%s reads what was not recorded: %.200s" % (name, foreign.pop()))
    if reported == set(after):
        wrong += ["%s reports it with status 0" % name for name, read in after.items()
                  if not read.status]
        return "reported", wrong
    if reported:
        wrong.append("not reported by " + ", ".join(sorted(set(after) - reported)))
    for name in ("dump", "reel_reader.py"):
        was, now = before[name].records, after[name].records
        if now != was and (is_finished or now != was[:len(now)]):
            wrong.append("%s reads %d records of %d, and says nothing"
                         % (name, len(now), len(was)))
    if is_finished and "report" in after and after["report"].records != before["report"].records:
        wrong.append("another report")
    return "read as it was" if after["dump"] == before["dump"] else "shorter", wrong


# ---- everything ----------------------------------------------------------------------------------

class Victim:
    def __init__(self, work, name, key):
        self.name = name
        self.path = os.path.join(work, name + ".reel")
        self.key = key
        with open(self.path, "rb") as file:
            self.file = File.parse(file.read())
        self.is_finished = self.file.index_offset is not None

    def read(self):
        return read_all(self.path, self.key)


@functools.lru_cache(maxsize=None)
def worker_identity(key):
    return reel_cipher.Identity(key)


def seal_own_key(key):
    """A file key chosen by the attacker, for the recipient: this only needs the public key."""
    identity = reel_cipher.Identity(key)
    sealed = ctypes.create_string_buffer(80)
    identity.sodium.crypto_box_seal(sealed, bytes(32), ctypes.c_ulonglong(32), identity.public)
    return sealed.raw


def attack(work, before, victim, name, data, readers):
    """The name, the result, and the problem with it."""
    path = os.path.join(work, "attacked-%d.reel" % os.getpid())
    with open(path, "wb") as file:
        file.write(data)
    try:
        after = read_all(path, victim.key, readers)
    except Exception as error:  # pylint: disable=broad-except # a reader breaks, in whatever way
        return name, "broken", [repr(error)]
    return (name,) + judge(before, after, victim.is_finished)


def kind_of(name):
    return re.sub(r"^block [0-9]+: ", "", name)


def chosen(victim, name):
    """Attacks that do not depend on a capture's end are tried with one of them."""
    only = sys.argv[1:]
    if only and not any(part in name for part in only):
        return False
    alike = ("retype", "codec", "flip", "rot", "keys", "reserved")
    return LONG or victim.name == "whole" or not any(word in name for word in alike)


def main():
    for needed in TOOL, GENERATOR:
        if not os.path.exists(needed):
            print("skip: %s is not built" % needed)
            print("0 passed, 0 failed, 1 skipped")
            return 0
    if not shutil.which("zstd"):
        print("skip: zstd is not installed")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    with tempfile.TemporaryDirectory(prefix="stackreel-attacks.") as work:
        return attack_all(work)


def attack_all(work):
    key = os.path.join(work, "key")
    public = subprocess.run([TOOL, "keygen", key], stdout=subprocess.PIPE, check=True).stdout
    subprocess.run([GENERATOR, work, public.decode().strip()], check=True)
    other = Victim(work, "other", key).file
    sealed = seal_own_key(key)
    outcomes = collections.Counter()
    silent = collections.Counter()
    cases = counting.Count()
    kinds, number = set(), 0
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        futures = []
        for name in ("whole", "first", "killed"):
            victim = Victim(work, name, key)
            before = victim.read()
            for what, data in attacks(victim.file, other, sealed):
                if data == victim.file.data() or not chosen(victim, what):
                    continue
                number += 1
                if LONG and not counting.in_share(number):
                    continue
                readers = set(READERS)
                if not LONG and (name, kind_of(what)) in kinds:
                    readers = {"dump", "reel_reader.py"}
                kinds.add((name, kind_of(what)))
                futures.append((name, pool.submit(attack, work, before, victim, what, data,
                                                  readers)))
        for name, future in futures:
            what, outcome, wrong = future.result()
            outcomes[outcome] += 1
            if outcome != "reported":
                silent[outcome, name, kind_of(what)] += 1
            cases.ok("%s: %s: %s" % (name, what, outcome), not wrong, "; ".join(wrong))
    for (outcome, name, what), count in sorted(silent.items()):
        print("    %s, %s: %s (%d)" % (outcome, name, what, count))
    total = sum(outcomes.values())
    print("%d attacks: %s" % (total, ", ".join("%d %s" % (n, o) for o, n in outcomes.items())))
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
