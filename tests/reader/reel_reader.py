#!/usr/bin/env python3
"""Reads captures of stackreel.  Written from SPEC.md alone, to check the text and the programs.

    reel_reader.py [--summary] [--no-index] [--bytes] [--identity KEYFILE] FILE

prints each record of each block in the file's order as a JSON object on a line of its own,
in ASCII; "block" is its sequence, "block_offset" where its header is in the file:

    {"block": 3, "block_offset": 1720, "record": "MAP", fields by their names in SPEC.md}

Numbers are integers, texts strings (a byte that is not UTF-8 is \\xNN, a backslash is doubled),
`bytes` fields lowercase hex.  An unknown record that may be skipped is
{..., "record": "unknown-N", "size": n}.  A record that differs from its list of fields:

    SAMPLE_LAYOUT  id, registers [[dwarf, size], ...]
    SAMPLE         id, time, thread, cpu, event, weight, where, flags, steps, pc, layout (or null),
                   registers [[dwarf, size, value or null], ...], regions, kernel_chain,
                   frame_chain (lists or null), kernel_frame (pc, sp, fp, return_address; or
                   null), labels ([[key, number or text], ...] or null), runtime_frames (null; or runtime, cut and
                   frames, [[function, position, 1 for an entry, native or 0], ...], the innermost first); all
                   differences undone.  A region: kind, address, size, missing [[offset, size], ...], crc (CRC-32 of
                   its bytes), and its bytes with --bytes.
    COLUMNS         each of its samples as a SAMPLE
    LABELS, FRAMES  none: labels and frames are shown with their samples

--summary prints a line for each block, {"block", "block_offset", "type", "records": {name: count}},
and then {"blocks": count, "records": {name: count}}.

Problems go to stderr, a JSON object a line: {"problem": "truncated", "corrupt", "unsupported",
"encrypted" or "not a capture", "offset": in the file, "message"}.  The exit status is 0 without problems, 1 with
problems, 2 with problems and not a single record.

reel_records.py reads records, reel_cipher.py decrypts; the rest is here.

As a module: Capture(file, report) (and an Identity of reel_cipher) has header, blocks(), records(block) and
all_records().
"""

import argparse
import collections
import json
import struct
import subprocess
import sys
import threading
import zlib

import reel_cipher
from reel_records import (
    CORRUPT, INDEX, KEYS, LOCKED, MIB, NOT_A_CAPTURE, RECORDS, SAMPLES, SIDE, TRUNCATED, UNSUPPORTED,
    Cursor, OutOfRange, ReelError, SampleDecoder, corrupt, decode_fields)
from reel_samples import Samples

# SPEC section 9.
MAX_STORED = 65 * MIB
MAX_RAW = 64 * MIB
MAX_EXPANDED = 256 * MIB
MAX_WINDOW = 64 * MIB


def max_raw(block):
    return (256 if block.type == SAMPLES else 64) * block.stored_size + 4096


def max_records(block):
    return 4 * block.stored_size + 256


def max_samples(block):
    return 16 * block.stored_size + 256

FILE_HEADER = struct.Struct("<II8sHHI16sII")
BLOCK_HEADER = struct.Struct("<II4s4sHBBIIIQQQII12sI")
TRAILER = struct.Struct("<II8sQ4sI")

FILE_START = struct.pack("<II8s", 0x184D2A5E, 40, b"\x89REEL\r\n\x1a")
BLOCK_START = struct.pack("<II4s", 0x184D2A5D, 72, b"RBLK")
TRAILER_START = struct.pack("<II8s", 0x184D2A5C, 24, b"REELEND\n")

OPTIONAL, ENCRYPTED, SCRUBBED = 1, 2, 4
FEATURE_ENCRYPTED = 1

Problem = collections.namedtuple("Problem", "problem offset message")
FileHeader = collections.namedtuple("FileHeader", "major minor features file_id")
Block = collections.namedtuple(
    "Block", "offset type codec flags sequence stored_size raw_size expanded_size "
             "time_first time_last records payload_crc")


# ---- zstd ------------------------------------------------------------------------------------

def frame_content_size(payload):
    """The content size in the frame's header; the payload is exactly this frame.

    RFC 8878, 3.1.1.
    """
    cursor = Cursor(payload)
    if cursor.take(4) != b"\x28\xb5\x2f\xfd":
        raise corrupt("the payload is not a zstd frame")
    descriptor = cursor.u8()
    single = descriptor >> 5 & 1
    if not single:
        window = cursor.u8()
        if ((8 + window % 8) << 7 + window // 8) > MAX_WINDOW:
            raise corrupt("the zstd frame's window is too large")
    if any(cursor.take((0, 1, 2, 4)[descriptor & 3])):
        raise corrupt("the zstd frame needs a dictionary")
    width = (single, 2, 4, 8)[descriptor >> 6]
    if width == 0:
        raise corrupt("the zstd frame has no content size")
    content = int.from_bytes(cursor.take(width), "little") + (256 if width == 2 else 0)
    last = 0
    while not last:
        header = int.from_bytes(cursor.take(3), "little")
        last = header & 1
        cursor.take(1 if header >> 1 & 3 == 1 else header >> 3)
    cursor.take(4 if descriptor & 4 else 0)
    if cursor.pos != cursor.end:
        raise corrupt("%d bytes after the zstd frame" % (cursor.end - cursor.pos))
    return content


def feed(pipe, data):
    try:
        with pipe:
            pipe.write(data)
    except BrokenPipeError:
        pass


def decompress(payload, raw_size):
    """Never reads more than raw_size bytes and one from the program, whatever the frame contains."""
    # --long: the largest window.
    process = subprocess.Popen(["zstd", "-dcq", "--long=26"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    feeder = threading.Thread(target=feed, args=(process.stdin, payload))
    feeder.start()
    with process.stdout:
        raw = process.stdout.read(raw_size + 1)
        if len(raw) > raw_size:
            process.kill()
    feeder.join()
    if process.wait() != 0 or len(raw) != raw_size:
        raise corrupt("the payload is not the zstd frame of %d bytes" % raw_size)
    return raw


# ---- the file --------------------------------------------------------------------------------

def is_unknown(block):
    return (block.type not in (SIDE, SAMPLES, INDEX, KEYS) or block.codec != 1
            or block.flags & ~(OPTIONAL | SCRUBBED | ENCRYPTED) != 0)


def within_limits(block):
    return (block.stored_size <= MAX_STORED and block.raw_size <= MAX_RAW
            and block.expanded_size <= MAX_EXPANDED)


def block_end(block):
    return block.offset + BLOCK_HEADER.size + block.stored_size


class Capture:
    """A capture in a seekable binary file.

    Calls report with each Problem.  Raises ReelError if nothing can be read.
    """

    def __init__(self, file, report, use_index=True, identity=None):
        self.file = file
        self.report = report
        self.use_index = use_index
        self.used_index = False
        self.problems = 0
        # Problems of headers and of the bytes between them.
        self.frame_problems = 0
        self.size = file.seek(0, 2)
        self.header = self.file_header()
        self.tag = self.header.file_id[:4]
        # Blocks end at a trailer at the file's end.
        self.end = self.size
        if self.size >= FILE_HEADER.size + TRAILER.size and (
                self.trailer_at(self.size - TRAILER.size) is not None):
            self.end -= TRAILER.size
        self.trailer_seen = False
        self.cut = False
        # Data before the next side record is damaged.
        self.side_damaged = False
        self.cipher = None
        if self.header.features & FEATURE_ENCRYPTED:
            self.cipher = self.find_cipher(identity)

    def problem(self, problem, offset, message):
        self.problems += 1
        self.report(Problem(problem, offset, message))

    def at(self, offset, size):
        if offset >= self.size:
            return b""
        self.file.seek(offset)
        return self.file.read(size)

    def file_header(self):
        data = self.at(0, FILE_HEADER.size)
        if data[:len(FILE_START)] != FILE_START[:len(data)]:
            raise ReelError(NOT_A_CAPTURE, "it does not begin like a capture", 0)
        if len(data) < FILE_HEADER.size:
            raise ReelError(TRUNCATED, "%d bytes of a file header" % len(data), 0)
        _, _, _, major, minor, features, file_id, _, crc = FILE_HEADER.unpack(data)
        if zlib.crc32(data[:-4]) != crc:
            raise ReelError(CORRUPT, "the file header's crc is wrong", 0)
        if major != 1 and (major, minor) != (0, 1):
            raise ReelError(UNSUPPORTED, "version %d.%d" % (major, minor), 0)
        if features & ~FEATURE_ENCRYPTED:
            raise ReelError(UNSUPPORTED, "features %#x" % features, 0)
        self.stored_header = data
        return FileHeader(major, minor, features, file_id)

    # -- encrypted files

    def find_cipher(self, identity):
        """By the first whole block of keys, in one of its two places."""
        # Iterating over the blocks reports the damage.
        report, self.report = self.report, lambda problem: None
        counts = self.problems, self.frame_problems
        blocks = list(self.walk())
        self.report = report
        self.problems, self.frame_problems = counts
        self.trailer_seen = self.cut = self.side_damaged = False
        self.last_block = blocks[-1] if blocks else None
        self.places_of_keys = {FILE_HEADER.size}
        if blocks:
            self.places_of_keys.add(blocks[-1].offset)
            if blocks[-1].type == INDEX and len(blocks) > 1:
                self.places_of_keys.add(blocks[-2].offset)
        for block in blocks:
            if block.type != KEYS or block.offset not in self.places_of_keys:
                continue
            try:
                raw, records = self.keys(block)
                keys = reel_cipher.known_keys(records)
                if identity is None:
                    raise ReelError(LOCKED, "encrypted", 0)
                key = identity.file_key(keys)
                return reel_cipher.Cipher(identity.sodium, self.stored_header, key, raw)
            except ReelError as error:
                if error.problem != CORRUPT:
                    error.offset = block.offset
                    raise
        raise ReelError(CORRUPT, "no key block is intact", FILE_HEADER.size)

    def keys(self, block):
        """Raw bytes and records of a block of keys, if it is whole."""
        reserved = self.at(block.offset, BLOCK_HEADER.size)[64:76]
        if (block.codec != 1 or block.flags or block.expanded_size or block.time_first
                or block.time_last or any(reserved)):
            raise corrupt("invalid header of a key block")
        raw = self.unpack(block, self.payload(block))
        return raw, list(Decoder(block, raw))

    def check_genuine(self, block):
        """Raises ReelError for a block that cannot be as written."""
        if not self.cipher:
            if block.flags & ENCRYPTED or block.type == KEYS:
                raise corrupt("a block from an encrypted file in one that is not encrypted")
        elif block.flags & ENCRYPTED:
            payload = self.at(block.offset + BLOCK_HEADER.size, reel_cipher.HEAD)
            next(self.cipher.messages(self.at(block.offset, BLOCK_HEADER.size), payload))
        elif block.type != KEYS or block.offset not in self.places_of_keys:
            raise corrupt("an unencrypted block")
        elif self.keys(block)[0] != self.cipher.raw_keys:
            raise corrupt("a block for other keys")

    def is_genuine(self, block):
        try:
            self.check_genuine(block)
        except ReelError as error:
            self.damage(block.offset, "block %d: %s" % (block.sequence, error.message))
            return False
        return True

    def check_index(self):
        """For an encrypted file whose blocks were all read."""
        if (self.cipher and self.end < self.size and not self.used_index and self.use_index
                and not self.frame_problems
                and (self.trailer_at(self.end) or self.last_block.type == INDEX)):
            self.problem(CORRUPT, self.end, "trailer and index do not match the blocks")

    def open_payload(self, block, payload):
        """The block with the numbers hidden in its header, and the zstd frame."""
        header = self.at(block.offset, BLOCK_HEADER.size)
        hidden, frame = self.cipher.messages(header, payload)
        first, last, records = reel_cipher.HIDDEN.unpack(hidden)
        return block._replace(time_first=first, time_last=last, records=records), frame

    def block_at(self, offset):
        """The block whose whole header is at offset, or None."""
        data = self.at(offset, min(BLOCK_HEADER.size, max(self.end - offset, 0)))
        if len(data) < BLOCK_HEADER.size or data[:16] != BLOCK_START + self.tag:
            return None
        fields = BLOCK_HEADER.unpack(data)
        block = Block(offset, *fields[4:15])
        return block if zlib.crc32(data[:-4]) == fields[-1] and within_limits(block) else None

    def trailer_at(self, offset):
        """The trailer's index offset, or None if no whole trailer is there."""
        data = self.at(offset, TRAILER.size)
        if len(data) < TRAILER.size or data[:16] != TRAILER_START:
            return None
        _, _, _, index, tag, crc = TRAILER.unpack(data)
        return index if tag == self.tag and zlib.crc32(data[:-4]) == crc else None

    def cut_header_at(self, offset):
        """Whether the file ends within a header that matches so far."""
        rest = self.at(offset, BLOCK_HEADER.size)
        return any(len(rest) < size and rest[:len(start)] == start[:len(rest)]
                   for start, size in ((BLOCK_START + self.tag, BLOCK_HEADER.size),
                                       (TRAILER_START, TRAILER.size)))

    def find_header(self, offset):
        """The offset of the first whole block header from here on, or the blocks' end."""
        start = BLOCK_START + self.tag
        while offset < self.end:
            chunk = self.at(offset, MIB)
            hit = chunk.find(start)
            while hit >= 0:
                if self.block_at(offset + hit):
                    return offset + hit
                hit = chunk.find(start, hit + 1)
            offset += max(len(chunk) - 15, 1)
        return self.end

    # -- blocks

    def blocks(self):
        """The blocks with whole headers, in the file's order, including unknown ones."""
        index = self.index_blocks() if self.use_index else None
        self.used_index = index is not None
        self.trailer_seen = self.cut = self.side_damaged = False
        highest = -1
        for block in self.walk() if index is None else index:
            highest = self.check_sequence(block, highest)
            if self.trailer_seen:
                self.damage(block.offset, "block %d follows a trailer" % block.sequence)
            if self.is_genuine(block):
                yield block
        self.trailer_seen = self.trailer_seen or self.end < self.size
        self.check_index()

    def damage(self, offset, message):
        """Before the next block."""
        self.side_damaged = True
        self.frame_problems += 1
        self.problem(CORRUPT, offset, message)

    def check_sequence(self, block, highest):
        if block.sequence <= highest:
            self.damage(block.offset, "block %d follows block %d"
                        % (block.sequence, highest))
        elif block.sequence > highest + 1:
            self.damage(block.offset, "%d blocks are missing before block %d"
                        % (block.sequence - highest - 1, block.sequence))
        return max(highest, block.sequence)

    def walk(self):
        """Blocks by scanning, without an index."""
        # behind: the end of the last whole header, where a search begins.
        offset = behind = FILE_HEADER.size
        while offset < self.end:
            block = self.block_at(offset)
            if block:
                behind = offset + BLOCK_HEADER.size
                if block_end(block) <= self.end:
                    yield block
                    offset = block_end(block)
                    continue
            elif offset + TRAILER.size <= self.end and self.trailer_at(offset) is not None:
                self.trailer_seen = True
                offset = behind = offset + TRAILER.size
                continue
            found = self.find_header(behind)
            self.report_damage(block, offset, found)
            offset = behind = found

    def report_damage(self, block, offset, found):
        """The block at offset is not whole, at most its header; the next one is at found."""
        if block:
            message = "block %d ends too early, at offset %d" % (block.sequence, found)
            if found == self.size:
                self.report_cut(offset, message)
            else:
                self.damage(offset, message)
        elif found < offset:
            self.damage(found, "a block begins within the previous block")
        elif found == self.size and self.cut_header_at(offset):
            self.report_cut(offset, "the file ends within a header")
        else:
            self.damage(offset, "%d damaged bytes are skipped, up to offset %d"
                        % (found - offset, found))

    def report_cut(self, offset, message):
        self.cut = True
        self.frame_problems += 1
        self.problem(TRUNCATED, offset, message)

    def index_blocks(self):
        """The blocks that the index names and the index block, or None if it is wrong.

        It must name every block with nothing else between them, so that the index does not change what is read.
        """
        offset = self.trailer_at(self.end) if self.end < self.size else None
        index = self.block_at(offset) if offset else None
        if (not index or index.type != INDEX or is_unknown(index)
                or block_end(index) != self.end):
            return None
        try:
            self.check_genuine(index)
            entries = [r for r in Decoder(*self.decrypted(index))
                       if r["record"] == "INDEX_ENTRY"]
        except ReelError:
            return None
        blocks = [self.block_at(entry["offset"]) for entry in entries] + [index]
        numbers = [entry["sequence"] for entry in entries] + [index.sequence]
        if None in blocks or [block.sequence for block in blocks] != numbers:
            return None
        ends = [FILE_HEADER.size] + [block_end(block) for block in blocks[:-1]]
        return blocks if [block.offset for block in blocks] == ends else None

    # -- records

    def decrypted(self, block):
        """The block as if unencrypted, and the bytes of its records."""
        payload = self.payload(block)
        if block.flags & ENCRYPTED:
            block, payload = self.open_payload(block, payload)
        return block, self.unpack(block, payload)

    def payload(self, block):
        payload = self.at(block.offset + BLOCK_HEADER.size, block.stored_size)
        if zlib.crc32(payload) != block.payload_crc:
            raise corrupt("the payload's crc is wrong")
        return payload

    def unpack(self, block, payload):
        """The bytes of the records.  Everything is checked before it is allocated."""
        if block.raw_size > max_raw(block) or block.records > max_records(block):
            raise corrupt("too many raw bytes or records for the block's stored size")
        if frame_content_size(payload) != block.raw_size:
            raise corrupt("the payload's content size is not the raw size")
        return decompress(payload, block.raw_size)

    def records(self, block):
        """The block's records as dicts; "record" is the name, regions have their bytes."""
        def problem(problem, message):
            self.side_damaged = self.side_damaged or block.type not in (SAMPLES, INDEX)
            self.problem(problem, block.offset, message)

        def pass_over(message):
            problem(CORRUPT, message)

        decoder = None
        try:
            if is_unknown(block):
                if not block.flags & OPTIONAL:
                    raise ReelError(UNSUPPORTED, "a block of type %d, codec %d, flags %#x"
                                    % (block.type, block.codec, block.flags))
                return
            decoder = Decoder(*self.decrypted(block), pass_over)
            yield from decoder
        except ReelError as error:
            problem(error.problem, error.message)
        if decoder and not block.flags & OPTIONAL:
            self.counts["samples"] += decoder.n_samples
            self.counts["side_records"] += decoder.n_records if block.type == SIDE else 0

    def all_records(self):
        """(block, record) of all that the file contains; checks properties across blocks."""
        order = RecordOrder(self)
        self.counts = dict(blocks=0, samples=0, side_records=0)
        for block in self.blocks():
            self.counts["blocks"] += block.type not in (INDEX, KEYS)
            for record in self.records(block):
                order.check(block, record)
                yield block, record
        if not self.trailer_seen and not self.cut:
            self.problem(TRUNCATED, self.size, "the file has no trailer")
        elif self.trailer_seen and not order.end:
            self.problem(TRUNCATED, self.size, "the file has a trailer, but no END record")
        self.check_counts(order.end or {"blocks": 0})

    def check_counts(self, end):
        for names in ("blocks", "side_records"), ("samples",):
            if end["blocks"] and any(end[name] != self.counts[name] for name in names):
                self.problem(CORRUPT, self.size, "END counts %s, the file has %s"
                             % (end, self.counts))


class RecordOrder:
    """Checks that CAPTURE is the first record of side blocks, and that END exists."""

    def __init__(self, capture):
        self.capture = capture
        self.first = True
        self.end = None

    def check(self, block, record):
        if block.type != SIDE:
            return
        # If something was lost earlier, this may not be the file's first record.
        if self.first and record["record"] != "CAPTURE" and not self.capture.side_damaged:
            self.capture.problem(CORRUPT, block.offset, "the first record is not CAPTURE")
        self.first = False
        if record["record"] == "END":
            self.end = record


class Decoder:
    """Iterates over the records in a block's raw bytes.  Calls pass_over for the skipped ones."""

    def __init__(self, block, raw, pass_over=lambda message: None):
        self.block = block
        self.raw = raw
        self.pass_over = pass_over
        self.samples = SampleDecoder(block.expanded_size)
        # Well-formed ones so far, including skipped ones.
        self.n_records = self.n_samples = 0
        self.max_samples = max_samples(block)

    def count_sample(self):
        if self.n_samples == self.max_samples:
            raise corrupt("too many samples for the block's stored size")
        self.n_samples += 1

    def __iter__(self):
        cursor = Cursor(self.raw)
        while cursor.pos < cursor.end:
            tag = cursor.uv()
            size = cursor.uv()
            start = cursor.pos
            if size > cursor.end - start:
                raise corrupt("a record exceeds its block")
            cursor.pos += size
            yield from self.decode(tag, Cursor(self.raw, start, start + size))
            self.n_records += 1
        if self.n_records != self.block.records:
            raise corrupt("the block has %d records, but its header says %d"
                          % (self.n_records, self.block.records))

    def decode(self, tag, cursor):
        """The record, None if it is skipped, or the samples in it."""
        if tag >> 1 == 0:
            raise corrupt("a record of id 0")
        if tag >> 1 not in RECORDS:
            if tag & 1:
                raise ReelError(UNSUPPORTED, "record %d is unknown, but critical" % (tag >> 1))
            yield {"record": "unknown-%d" % (tag >> 1), "size": cursor.end - cursor.pos}
            return
        name, block_type, fields = RECORDS[tag >> 1]
        if block_type != self.block.type:
            raise corrupt("%s in a block of type %d" % (name, self.block.type))
        try:
            if name == "COLUMNS":
                for sample in Samples(self.samples, cursor):
                    self.count_sample()
                    yield {"record": "SAMPLE", **sample}
            elif name == "LABELS":
                self.samples.add_labels(cursor)
            elif name == "FRAMES":
                self.samples.add_frames(cursor)
            else:
                yield {"record": name, **self.decode_known(name, fields, cursor)}
        except OutOfRange as error:
            self.pass_over("%s: %s" % (name, error))
        except ReelError as error:
            error.message = "%s: %s" % (name, error.message)
            raise

    def decode_known(self, name, fields, cursor):
        if name == "SAMPLE_LAYOUT":
            return self.samples.layout(cursor)
        return decode_fields(cursor, name, fields)


# ---- the program -----------------------------------------------------------------------------

def printable_region(region, with_bytes):
    printable = {key: value for key, value in region.items() if key != "bytes"}
    printable["crc"] = zlib.crc32(region["bytes"])
    if with_bytes:
        printable["bytes"] = region["bytes"].hex()
    return printable


def printable(block, record, with_bytes=False):
    """The object to write as JSON."""
    out = {"block": block.sequence, "block_offset": block.offset}
    for key, value in record.items():
        if key == "regions":
            value = [printable_region(region, with_bytes) for region in value]
        out[key] = value.hex() if isinstance(value, bytes) else printable_text(value)
    return out


def printable_text(value):
    """A text as valid JSON: without the lone surrogates that represent bytes here."""
    if not isinstance(value, str):
        return value
    return value.encode("utf-8", "surrogateescape").replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


def write_json(stream, value):
    stream.write(json.dumps(value, ensure_ascii=True) + "\n")


def report_to_stderr(problem):
    write_json(sys.stderr, problem._asdict())


def print_records(capture, with_bytes):
    count = 0
    for block, record in capture.all_records():
        write_json(sys.stdout, printable(block, record, with_bytes))
        count += 1
    return count


def print_summary(capture):
    total = collections.Counter()
    blocks = collections.OrderedDict()
    for block, record in capture.all_records():
        blocks.setdefault(block, collections.Counter())[record["record"]] += 1
        total[record["record"]] += 1
    for block, counts in blocks.items():
        write_json(sys.stdout, {"block": block.sequence, "block_offset": block.offset,
                                "type": block.type, "records": counts})
    write_json(sys.stdout, {"blocks": len(blocks), "records": total})
    return sum(total.values())


def exit_status(problems, records):
    """Of their numbers."""
    if not problems:
        return 0
    return 1 if records else 2


def read(file, options):
    """The exit status."""
    try:
        identity = reel_cipher.Identity(options.identity) if options.identity else None
        capture = Capture(file, report_to_stderr, not options.no_index, identity)
    except ReelError as error:
        report_to_stderr(Problem(error.problem, error.offset, error.message))
        return 2
    count = print_summary(capture) if options.summary else print_records(capture, options.bytes)
    return exit_status(capture.problems, count)


def main():
    parser = argparse.ArgumentParser(description="Prints a capture's records as JSON lines.")
    parser.add_argument("--summary", action="store_true", help="only count records and blocks")
    parser.add_argument("--no-index", action="store_true", help="scan, even if there is an index")
    parser.add_argument("--bytes", action="store_true", help="print the bytes of regions")
    parser.add_argument("--identity", metavar="KEYFILE", help="a secret key")
    parser.add_argument("file", metavar="FILE")
    options = parser.parse_args()
    try:
        with open(options.file, "rb") as file:
            status = read(file, options)
            sys.stdout.flush()
            return status
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except OSError as error:
        sys.stderr.write("reel_reader: %s\n" % error)
        return 2


if __name__ == "__main__":
    sys.exit(main())
