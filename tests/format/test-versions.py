#!/usr/bin/env python3
"""SPEC.md, annex D.3, on later versions: files of a version that adds something everywhere, read by this one.

    O=DIR   the object directory (build)

Each block of a capture gets unknown records, each record extra bytes after its fields, the file blocks of unknown
types, codecs and flags.  Uncritical additions must not change any output; critical ones must be reported, and cost
only their block.  The sources are good captures with COLUMNS and images.
"""

import os
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

TOOL = os.path.join(os.environ.get("O", "build"), "stackreel")
SIDE, SAMPLES, INDEX = 1, 2, 3
# No extra bytes may follow the samples of these (SPEC.md, 6.3): the additions would be another record.
FIXED = 32, 35, 37, 38, 39
END = 15
count = counting.Count()


def run(*arguments):
    done = subprocess.run([TOOL] + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, timeout=100)
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")


# ---- splitting and joining a capture --------------------------------------------------------------

def number(raw, at):
    value = shift = 0
    while True:
        value |= (raw[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if raw[at - 1] < 128:
            return value, at


def records_of(raw):
    """(tag, payload) of each."""
    at, found = 0, []
    while at < len(raw):
        tag, at = number(raw, at)
        size, at = number(raw, at)
        found.append((tag, raw[at:at + size]))
        at += size
    return found


def blocks_of(data):
    """(header, records) of each block except for the index."""
    at, found = 48, []
    while data[at:at + 4] == b"\x5d\x2a\x4d\x18":
        header = data[at:at + 80]
        end = at + 80 + struct.unpack("<I", header[24:28])[0]
        raw = subprocess.run(["zstd", "-dcq"], input=data[at + 80:end], stdout=subprocess.PIPE, check=True).stdout
        if header[16] != INDEX:
            found.append((header, records_of(raw)))
        at = end
    return found


def join(data, blocks):
    """A file of these blocks: (type, codec, flags, header or None, records or bytes)."""
    out = b.file_header(file_id=data[24:40], minor=7)
    for sequence, (kind, codec, flags, header, records) in enumerate(blocks):
        raw = records
        if not isinstance(records, bytes):
            raw = b"".join(b.uv(tag) + b.uv(len(payload)) + payload for tag, payload in records)
        payload = b.zstd_frame(raw) if codec == 1 else b.skippable(raw)
        expanded, first, last = struct.unpack("<QQQ", header[32:56]) if header else (0, 0, 0)
        n = 0 if isinstance(records, bytes) else len(records)
        out += b.block_header(kind, sequence, len(payload), len(raw), n, zlib.crc32(payload), codec=codec, flags=flags,
                              expanded_size=expanded, time_first=first, time_last=last, tag=data[24:28])
        out += payload
    return out + b.trailer(0, tag=data[24:28])


def uncounted(tag, payload):
    """END without the counts of blocks and records, which have grown."""
    at = 0
    for _ in range(4):
        _, at = number(payload, at)
    return tag, payload[:at] + b"\0\0"


def with_additions(data, additions):
    """`additions` gives the records to put before and after, by a block's type; all fields get extra bytes."""
    blocks = []
    for header, records in blocks_of(data):
        records = [uncounted(*record) if record[0] // 2 == END else record for record in records]
        # After fields that were added later, which an earlier version may have omitted, all 0.
        records = [(tag, payload if tag // 2 in FIXED else payload + b"\0\0\0\0more") for tag, payload in records]
        front, behind = additions(header[16])
        # CAPTURE stays the first one.
        records = records[:1] + front + records[1:] + behind
        blocks.append((header[16], header[18], header[19], header, records))
    return blocks


def harmless(kind):
    new = (31 if kind == SIDE else 45) * 2
    far = 1000 * 2      # after all that are reserved today
    return [(new, b"front"), (far, b"")], [(new, b"behind"), (far, bytes(300))]


def optional_blocks():
    return [(77, 1, 1, None, b"a type"), (SIDE, 9, 1, None, b"a codec"), (SAMPLES, 1, 1 | 64, None, b"a flag")]


# ---- what must stay the same -----------------------------------------------------------------------

def check_harmless(path, folder, options):
    name = os.path.basename(path)
    with open(path, "rb") as file:
        data = file.read()
    newer = os.path.join(folder, "newer-" + name)
    blocks = with_additions(data, harmless)
    with open(newer, "wb") as file:
        file.write(join(data, blocks[:1] + optional_blocks() + blocks[1:] + optional_blocks()))
    for command in (["script"], ["folded"], ["report", "--no-pager"]):
        # The report names the file.
        status, wanted, _ = run(*command, *options, path)
        found_status, found, errors = run(*command, *options, newer)
        count.ok("%s: %s" % (name, command[0]), status == found_status == 0 and
                 wanted.replace(os.fsencode(path), b"") == found.replace(os.fsencode(newer), b"") and not errors, errors)
    status, text, _ = run("verify", newer)
    text = text.decode()
    count.ok(name + ": it is whole", status == 0 and "are from a newer version" in text, text)
    status, text, _ = run("dump", newer)
    count.ok(name + ": dump names what is new", status == 0 and b" unknown-31 " in text and b" unknown-1000 " in text)
    check_copies(name, folder, newer, options)


# What each keeps (SPEC.md, annex D.2): unknown records that are not safe to copy, and unknown fields.
COPIES = {"shrink": True, "pack": True, "resolve": False, "repair": True, "cut": True, "scrub": False, "merge": False}


def records_in(path):
    with open(path, "rb") as file:
        return [record for _, records in blocks_of(file.read()) for record in records]


def check_copies(name, folder, newer, options):
    """Of each kind all or nothing is kept, and whatever is not is reported."""
    source, out = records_in(newer), os.path.join(folder, "out.reel")
    for command, keeps in COPIES.items():
        own = options if command in ("shrink", "pack", "resolve") else []
        own = own + ["--no-check"] * (command in ("pack", "resolve"))
        status, _, errors = run(command, *own, "-o", out, newer)
        found = records_in(out)
        with open(out, "rb") as file:
            count.ok("%s: %s writes version 1.0" % (name, command), file.read(20)[16:] == b"\1\0\0\0")
        for what, known in ("safe to copy", lambda tag: tag // 2 in (31, 45)), ("others", lambda tag: tag // 2 == 1000):
            wanted = [record for record in source if known(record[0])] if keeps or what != "others" else []
            count.ok("%s: %s, unknown records, %s" % (name, command, what),
                     sorted(wanted) == sorted(record for record in found if known(record[0])), str(found)[:300])
        fields = [tag // 2 for tag, payload in found if payload.endswith(b"\0\0\0\0more") and tag // 2 not in (*FIXED, 31, 45, 1000)]
        count.ok("%s: %s, unknown fields" % (name, command), bool(fields) == keeps and END not in fields, str(fields))
        # The optional blocks and END's fields, at least.
        count.ok("%s: %s reports what it left out" % (name, command),
                 status == 1 and "records, labels, fields or blocks of a newer version" in errors, "status %d; %s" % (status, errors))
        os.unlink(out)


def check_critical(folder):
    """A critical record, and a block that is not optional: reported, and all others are read."""
    path = "testdata/format/good-two-threads.reel"
    with open(path, "rb") as file:
        data = file.read()
    plain = [(header[16], 1, header[19], header, records) for header, records in blocks_of(data)]
    plain[-1] = plain[-1][:4] + ([uncounted(*record) for record in plain[-1][4]],)
    everything = run("script", path)[1].split(b"\n\n")
    cases = {
        # Before the first of two blocks of samples, its six are lost; after it, none.
        "a critical record in front": ([plain[0], plain[1][:4] + ([(45 * 2 + 1, b"new")] + plain[1][4],)] + plain[2:], 6),
        "a critical record behind": ([plain[0], plain[1][:4] + (plain[1][4] + [(45 * 2 + 1, b"new")],)] + plain[2:], 0),
        "one in a block of its own": (plain[:1] + [(SAMPLES, 1, 0, None, [(45 * 2 + 1, b"new")])] + plain[1:], 0),
        "a block of another type": (plain[:1] + [(77, 1, 0, None, b"new")] + plain[1:], 0),
        "a block of another codec": (plain[:1] + [(SAMPLES, 9, 0, None, b"new")] + plain[1:], 0),
    }
    for name, (blocks, lost) in cases.items():
        newer = os.path.join(folder, "critical.reel")
        with open(newer, "wb") as file:
            file.write(join(data, blocks))
        status, text, errors = run("script", newer)
        found = text.split(b"\n\n")
        count.ok(name + ": what is read", status == 0 and len(everything) - len(found) == lost, "%d" % len(found))
        count.ok(name + ": it is said", "use a newer stackreel" in errors, errors)
        status, text, _ = run("verify", newer)
        count.ok(name + ": verify", status == 1 and b"  unsupported: " in text, text.decode())
        status, _, errors = run("repair", "-o", os.path.join(folder, "no.reel"), newer)
        count.ok(name + ": it is not for repair", status == 1 and "newer stackreel" in errors, errors)


def check_numbers(folder):
    """Numbers of a later version in lists (SPEC.md, section 10) are no damage, are shown, and make no trace complete."""
    path, out = "testdata/format/good-unknown-numbers.reel", os.path.join(folder, "numbers.reel")
    status, text, _ = run("verify", path)
    count.ok("unknown numbers: verify", status == 0 and b"13 records and samples have numbers of a newer version" in text, text.decode())
    status, text, errors = run("script", path)
    count.ok("unknown numbers: script", status == 0 and b"# stop: end of the recorded chain" in text and not errors, text.decode() + errors)
    status, text, _ = run("info", "-q", path)
    count.ok("unknown numbers: info", status == 0 and b"lost for a reason that a newer version knows 5" in text, text.decode())
    for command in "merge", "repair", "scrub":
        status, _, errors = run(command, "-q", "-o", out, path)
        numbers = run("dump", out)[1].count(b"=99 ")
        count.ok("unknown numbers: %s keeps them" % command, status == 0 and numbers == run("dump", path)[1].count(b"=99 "),
                 "status %d, %d; %s" % (status, numbers, errors))


def check_headers(folder):
    """A later version says so in the header, and defines the meaning itself."""
    path = "testdata/format/good-two-threads.reel"
    with open(path, "rb") as file:
        data = file.read()
    for name, fields in {"major": dict(major=2), "feature": dict(features=1 << 31)}.items():
        newer = os.path.join(folder, "header.reel")
        with open(newer, "wb") as file:
            file.write(b.file_header(file_id=data[24:40], **fields) + data[48:])
        status, text, errors = run("script", newer)
        count.ok("a newer %s: nothing is read, with the reason" % name, status == 1 and not text and "use " in errors, errors)
        # It must not be mistaken for damage.
        status, _, errors = run("repair", "-o", os.path.join(folder, "no.reel"), newer)
        count.ok("a newer %s is not for repair" % name, status == 1 and "use " in errors, errors)


def main():
    if not os.access(TOOL, os.X_OK):
        count.skip(TOOL + " is not built")
        return count.finish()
    if not shutil.which("zstd"):
        count.skip("zstd is not installed")
        return count.finish()
    folder = tempfile.mkdtemp(prefix="stackreel-versions.")
    try:
        for name in "good-two-threads", "good-regions", "good-kernel-frame", "good-labels", "good-frames":
            check_harmless("testdata/format/%s.reel" % name, folder, ["--no-host-files"])
        symfs = "testdata/aarch64/orders"
        check_harmless(symfs + "/orders.reel", folder, ["--no-host-files", "--symfs", symfs])
        packed = os.path.join(folder, "packed.reel")
        status, _, errors = run("pack", "-q", "--no-check", "--no-host-files", "--symfs", symfs, "-o", packed, symfs + "/orders.reel")
        count.ok("a packed capture", status == 0, errors)
        check_harmless(packed, folder, ["--no-host-files"])
        check_critical(folder)
        check_numbers(folder)
        check_headers(folder)
    finally:
        shutil.rmtree(folder)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
