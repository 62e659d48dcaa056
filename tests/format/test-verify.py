#!/usr/bin/env python3
"""`stackreel verify` and `repair`: changes in a capture are found, and the repaired rest is whole.

    O=DIR   the object directory (build)
    LONG=1  every byte of the small captures, and more of the others

Bytes are flipped, ends cut off, blocks omitted, repeated and exchanged.  verify must report every change; repair's
output must be whole, also by reel_reader.py, and have the traces that `script` prints for the changed file.
"""
# run.sh: longer

import glob
import hashlib
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "reader")]
import counting
import json_schema
import reel_builder as b
import reel_cases
import reel_reader

TOOL = os.path.join(os.environ.get("O", "build"), "stackreel")
LONG = bool(os.environ.get("LONG"))
FORMAT = "testdata/format/"
KEY = FORMAT + "encrypted.key"

count = counting.Count()
chance = random.Random(17)


def run(*arguments):
    """Exit status, standard output, standard error."""
    done = subprocess.run([TOOL] + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, timeout=300)
    return done.returncode, done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode("utf-8", "replace")


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def blocks_of(data):
    """(begin, end) of each block: the bytes between file header and trailer."""
    found, at = [], 48
    while data[at:at + 4] == b"\x5d\x2a\x4d\x18":
        end = at + 80 + struct.unpack("<I", data[at + 24:at + 28])[0]
        found.append((at, end))
        at = end
    return found


# ---- the changes ----------------------------------------------------------------------------------

def changes(data, flips, cuts):
    """(name, bytes): each differs from `data`."""
    for at in (range(len(data)) if flips >= len(data) else sorted(chance.sample(range(len(data)), flips))):
        bit = 1 << chance.randrange(8)
        yield "bit %d of byte %d" % (bit, at), data[:at] + bytes([data[at] ^ bit]) + data[at + 1:]
    for size in (range(len(data)) if cuts >= len(data) else sorted(chance.sample(range(len(data)), cuts))):
        yield "cut to %d bytes" % size, data[:size]
    blocks = blocks_of(data)
    for i, (begin, end) in enumerate(blocks):
        if data[begin + 16] != 3:   # an index: no effect
            yield "without block %d" % i, data[:begin] + data[end:]
        yield "block %d twice" % i, data[:end] + data[begin:]
    for i in range(len(blocks) - 1):
        (a, b), (_, c) = blocks[i:i + 2]
        yield "block %d behind the next one" % i, data[:a] + data[b:c] + data[a:b] + data[c:]


def whole_of(reports, paths):
    """The result of `verify --json` for each: True, False, or None if it has none."""
    verdicts = {}
    for line in reports.splitlines():
        told = json.loads(line)
        if "whole" in told:
            verdicts[told["file"]] = told["whole"]
        else:
            verdicts.setdefault(told["file"], False)
    return [verdicts.get(path) for path in paths]


def samples_of(path, *options):
    """The traces that script prints; a sample that is twice in a damaged file counts once."""
    status, out, _ = run("script", "-q", "--no-host-files", *options, path)
    traces = [trace for trace in out.split("\n\n") if trace.strip() and not trace.startswith("#")]
    return status, [trace for i, trace in enumerate(traces) if trace not in traces[:i][-20:]]


def check_repaired(name, path, folder, options):
    """False: it cannot be repaired, which was reported."""
    out = os.path.join(folder, "repaired.reel")
    if os.path.exists(out):
        os.unlink(out)
    before = read(path)
    decrypt = ["--decrypt"] if options else []
    status, _, errors = run("repair", "-o", out, *options, *decrypt, path)
    count.ok(name + ": repair", status in (0, 1) and (status == 1) == (not os.path.exists(out)), errors)
    count.ok(name + ": the original stays", read(path) == before)
    if status == 1:
        count.ok(name + ": why not", errors.startswith("stackreel: "), errors)
        return False
    status, text, _ = run("verify", out)
    count.ok(name + ": repaired, it is whole", status == 0 and "is not above" not in text, text)
    if len(before) < 4096:      # it takes its time
        problems = []
        with open(out, "rb") as file:
            for _ in reel_reader.Capture(file, problems.append).all_records():
                pass
        count.ok(name + ": whole to the other reader", not problems, str(problems[:2]))
    status, wanted = samples_of(path, *options)
    # No other command reads a file whose header is damaged.
    if status == 0 or wanted:
        found = samples_of(out)[1]
        count.ok(name + ": the same traces", wanted == found, "%d, not %d" % (len(found), len(wanted)))
    return True


def check_capture(path, folder, flips, cuts, repairs, options=()):
    data, name = read(path), os.path.basename(path)
    status, text, errors = run("verify", *options, path)
    count.ok(name + ": it is whole", status == 0 and "whole: " in text, text + errors)
    changed = list(changes(data, flips, cuts))
    if LONG:
        # As many of a share as of all
        total, changed = len(changed), [change for i, change in enumerate(changed) if counting.in_share(i)]
        repairs = repairs * len(changed) // total
    paths = [write(os.path.join(folder, "%d.reel" % i), bytes_) for i, (_, bytes_) in enumerate(changed)]
    status, text, errors = run("verify", "--json", *options, *paths)
    count.ok(name + ": changed ones", status == 1, "status %d, %s" % (status, errors))
    wrong = [what for (what, _), verdict in zip(changed, whole_of(text, paths)) if verdict is not False]
    # An encrypted file whose last blocks were omitted, with a matching END, looks like a killed recorder's file; this
    # is not such a case.
    count.ok(name + ": %d changes are found" % len(changed), not wrong, "%d not: %s" % (len(wrong), wrong[:3]))
    chosen = sorted(chance.sample(range(len(paths)), min(repairs, len(paths))))
    repaired = sum(check_repaired("%s, %s" % (name, changed[i][0]), paths[i], folder, list(options)) for i in chosen)
    print("%s: %d changes; of %d, %d could be repaired" % (name, len(changed), len(chosen), repaired))
    for path in paths:
        os.unlink(path)
    return repaired


# ---- messages --------------------------------------------------------------------------------------

def check_report(folder):
    path = FORMAT + "good-two-threads.reel"
    data = read(path)
    begin, end = blocks_of(data)[1]
    bad = write(os.path.join(folder, "bad.reel"), data[:end - 1] + bytes([data[end - 1] ^ 1]) + data[end:])
    status, text, _ = run("verify", path, bad, os.path.join(folder, "none.reel"))
    count.ok("several files: status", status == 1, str(status))
    lines = text.splitlines()
    count.ok("a whole one's line", lines[0].startswith(path + ": whole: 12 samples, 8 side records, "), lines[0])
    count.ok("a damaged one: block and offset",
             "  corrupt: block 1 at offset %d: wrong payload checksum" % begin in lines, text)
    count.ok("what is lost", any(line.startswith("    lost: the samples from 0.000 s to 0.") for line in lines), text)
    count.ok("how many there were", any(" of 12, 8 side records" in line or " samples of 12" in line for line in lines), text)
    found = [json.loads(line) for line in run("verify", "--json", bad)[1].splitlines()]
    schema = json_schema.validator("verify")
    if schema:
        lines = run("verify", "--json", "README.md", *sorted(glob.glob(FORMAT + "*.reel")))[1].splitlines()
        errors = [error.message for line in lines for error in schema.iter_errors(json.loads(line))]
        count.ok("JSON of all fixtures matches its schema", lines and not errors, str(errors[:3]))
    else:
        count.skip("python3-jsonschema is not installed")
    count.ok("as JSON", [f.get("offset") for f in found[:1]] == [begin] and found[-1]["whole"] is False, str(found))
    # Exchanged blocks are read with the same samples; these are not lost.
    (a, b), (c, d) = blocks_of(read(FORMAT + "good-two-threads.reel"))[1:3]
    whole = read(FORMAT + "good-two-threads.reel")
    swapped = write(os.path.join(folder, "swapped.reel"), whole[:a] + whole[c:d] + whole[a:b] + whole[d:])
    check_repaired("exchanged blocks", swapped, folder, [])
    # The output states the losses.
    out = os.path.join(folder, "out.reel")
    status, _, errors = run("repair", "-o", out, bad)
    count.ok("repair says what is left out", status == 0 and "wrong payload checksum" in errors and " samples and " in errors, errors)
    lost = run("info", out)[1]
    count.ok("info reports the loss", "dropped by the recorder" in lost, lost)
    count.ok("not onto itself", run("repair", "-o", bad, bad)[0] == 2 and read(bad) != read(out))
    for other in "unsupported-record", "not-a-capture-text", "truncated-only-header":
        status, _, errors = run("repair", "-o", os.path.join(folder, "no.reel"), FORMAT + other + ".reel")
        count.ok(other + " can't be repaired", status == 1 and not os.path.exists(os.path.join(folder, "no.reel")), errors)


def check_fixtures():
    """Every fixture of the format is as its name says."""
    for name in sorted(os.listdir(FORMAT)):
        if not name.endswith(".reel") or name == "encrypted.reel":
            continue
        status, text, errors = run("verify", FORMAT + name)
        count.ok(name, status == (0 if name.startswith("good-") else 1) and bool(text + errors), text + errors)
    status, text, _ = run("verify", FORMAT + "good-undefined-ids.reel")
    count.ok("ids that nobody defined are remarks",
             status == 0 and "remark: 1 samples with a thread that no previous THREAD defines (first 12345, in block 1 " in text, text)


def check_second_space(folder):
    """Of a space's second record, only the properties count."""
    path = os.path.join(folder, "spaces.reel")
    space = lambda parent, namespace_pid: b.record("SPACE", 1, 1, parent, 2, 100, namespace_pid, 62, 64, 1, 0, 0, 0)
    for parents, wanted in (((0, 9), ""), ((9, 9), "remark: 1 records with a space that no SPACE defines (first 9, ")):
        reel = b.Reel().side(reel_cases.capture_record(), *(space(parent, 7 * i) for i, parent in enumerate(parents)))
        write(path, reel_cases.finish(reel, 0).data)
        text = run("verify", path)[1]
        count.ok("a space's parents: %d, %d" % parents, wanted in text if wanted else "SPACE" not in text, text)


def check_encrypted():
    path = FORMAT + "encrypted.reel"
    status, text, _ = run("verify", path)
    count.ok("without the key", status == 1 and "cannot be checked without the key" in text and "whole" not in text, text)
    status, text, _ = run("verify", "--identity", KEY, path)
    count.ok("with the key", status == 0 and "whole: " in text, text)


def unpacked(payload):
    return subprocess.run(["zstd", "-dcq"], input=payload, stdout=subprocess.PIPE, check=True).stdout


def pack_again(header, raw):
    """The payload with these records; the header of their block gets its sizes and checksums."""
    payload = subprocess.run(["zstd", "-cq", "--no-check", "--stream-size=%d" % len(raw)], input=raw, stdout=subprocess.PIPE, check=True).stdout
    struct.pack_into("<II", header, 24, len(payload), len(raw))
    struct.pack_into("<I", header, 60, zlib.crc32(payload))
    struct.pack_into("<I", header, 76, zlib.crc32(bytes(header[:76])))
    return payload


def check_images(packed, folder):
    """An image with a different build-id than its module is found, and dropped."""
    data = run("dump", "--json", packed)[1]
    build_id = next(r["build_id"] for r in map(json.loads, data.splitlines()) if r["record"] == "MODULE" and r["build_id"])
    # Changes the module's own id everywhere in its block, and fixes the checksums.
    changed = swap_build_id(read(packed), bytes.fromhex(build_id))
    path = write(os.path.join(folder, "other.reel"), changed)
    status, text, _ = run("verify", path)
    count.ok("an image of another build-id", status == 1 and "different build-id" in text, text)
    out = os.path.join(folder, "without.reel")
    status, _, errors = run("repair", "-o", out, path)
    count.ok("it is dropped", status == 0 and run("verify", out)[0] == 0 and
             images_of(out) == images_of(packed) - 1, "%d of %d: %s" % (images_of(out), images_of(packed), errors))


def change_unread(path, folder):
    """A capture with a reserved byte changed, in a header whose checksum is right."""
    data = bytearray(read(path))
    begin = blocks_of(data)[1][0]
    data[begin + 64] ^= 1
    struct.pack_into("<I", data, begin + 76, zlib.crc32(bytes(data[begin:begin + 76])))
    return write(os.path.join(folder, "unread.reel"), bytes(data))


def with_two_digests(path, folder):
    data = read(path)
    begin, end = blocks_of(data)[-1]
    header, raw = bytearray(data[begin:begin + 80]), unpacked(data[begin + 80:end])
    struct.pack_into("<I", header, 56, struct.unpack_from("<I", header, 56)[0] + 1)
    payload = pack_again(header, raw + raw[-35:])
    return write(os.path.join(folder, "two.reel"), data[:begin] + bytes(header) + payload + data[end:])


def check_digest(packed, without, folder):
    """The digest finds what no reader looks at."""
    record = next(r for r in map(json.loads, run("dump", "--json", packed)[1].splitlines()) if r["record"] == "DIGEST")
    data = read(packed)
    index = struct.unpack("<Q", data[-16:-8])[0]
    count.ok("the digest is SHA-256", record["sha256"] == hashlib.sha256(data[:index]).hexdigest(), str(record))
    text = run("verify", packed)[1]
    count.ok("verify compares it", "SHA-256 matches" in text, text)
    status, text, _ = run("verify", change_unread(packed, folder))
    count.ok("a change that only the digest shows", status == 1 and "SHA-256" in text and "matches" not in text, text)
    status, text, _ = run("verify", with_two_digests(packed, folder))
    count.ok("two digests", status == 1 and "more than one" in text, text)
    status, text, _ = run("verify", change_unread(without, folder))
    count.ok("the same without a digest", status == 0 and "SHA-256" not in text, text)


def images_of(path):
    return run("dump", "--json", path)[1].count('"record": "IMAGE"')


def swap_build_id(data, build_id):
    """MODULE's build-id, which precedes its image's, with a different last byte."""
    out = bytearray(data[:48])
    for begin, end in blocks_of(data):
        header, payload = bytearray(data[begin:begin + 80]), data[begin + 80:end]
        raw = unpacked(payload)
        at = raw.find(bytes([len(build_id)]) + build_id)
        if at >= 0:
            last = at + len(build_id)
            payload = pack_again(header, raw[:last] + bytes([raw[last] ^ 1]) + raw[last + 1:])
        if header[16] != 3:     # the index would name other offsets
            out += bytes(header) + payload
    trailer = bytearray(data[-32:])
    struct.pack_into("<Q", trailer, 16, 0)
    struct.pack_into("<I", trailer, 28, zlib.crc32(bytes(trailer[:28])))
    return bytes(out + trailer)


def check_old_ends(folder):
    """END of an old writer: without a number of blocks, its other numbers mean nothing, also in copies."""
    for samples, side, taken in ((3, 0, 0), (0, 7, 1), (5, 0, 1), (1 << 63, 1, 1)):
        found = b.Samples()
        for number in range(taken):
            found.sample(number + 1, 2000, kernel=[0xffffffff81000000])
        reel = reel_cases.started(b.record("EVENT", 1, 1, 0, 999, 0, 1, "cpu-clock", 0))
        path = os.path.join(folder, "old.reel")
        write(path, (reel.samples(found) if taken else reel).side(b.record("END", 9000, 0, samples, 0, 0, side)).index().trailer().data)
        status, out, errors = run("verify", path)
        count.ok("an old END", status == 0, out + errors)
        for command in ("pack", "shrink", "scrub", "resolve", "merge", "repair", "cut"):
            copy = os.path.join(folder, "copy.reel")
            status, out, errors = run(command, "-q", "-o", copy, path)
            if command == "cut" and not taken:
                count.ok("cut of no samples", status == 1, errors)
                continue
            count.ok("%s of an old END" % command, status == 0, out + errors)
            status, out, errors = run("verify", copy)
            count.ok("%s of an old END: whole" % command, status == 0, out + errors)


def check_own_limits(folder):
    """What exceeds a limit of this reader, not of the format, is reported."""
    path = os.path.join(folder, "modules.reel")
    reel = reel_cases.started()
    for first in range(2, 80002, 20000):
        reel.side(*(b.record("MODULE", id, 5, 0, 0, 0, 0, b"", "") for id in range(first, first + 20000)), compress=b.zstd_frame)
    write(path, reel_cases.finish(reel, 0).data)
    for command in "verify", "info":
        status, text, errors = run(command, path)
        count.ok("too many modules: " + command, status == 1 and "too many MODULE records" in text + errors, text[:300] + errors)


def main():
    if not os.access(TOOL, os.X_OK):
        count.skip(TOOL + " is not built")
        return count.finish()
    folder = tempfile.mkdtemp(prefix="stackreel-verify.")
    try:
        packed = os.path.join(folder, "packed.reel")
        orders = "testdata/aarch64/orders"
        status, _, errors = run("pack", "-q", "--no-host-files", "--symfs", orders, "-o", packed, orders + "/orders.reel")
        count.ok("a packed capture", status == 0, errors)
        check_fixtures()
        check_second_space(folder)
        check_own_limits(folder)
        check_report(folder)
        check_old_ends(folder)
        check_encrypted()
        check_digest(packed, orders + "/orders.reel", folder)
        if shutil.which("zstd"):
            check_images(packed, folder)
        else:
            count.skip("zstd is not installed")
        every = 1 << 30 if LONG else 0
        repaired = check_capture(FORMAT + "good-two-threads.reel", folder, every or 500, every or 200, 2000 if LONG else 12)
        repaired += check_capture(FORMAT + "good-image.reel", folder, every or 300, every or 100, 500 if LONG else 4)
        repaired += check_capture(FORMAT + "encrypted.reel", folder, every or 300, every or 100, 500 if LONG else 6,
                                  ("--identity", KEY))
        repaired += check_capture(orders + "/orders.reel", folder, 4000 if LONG else 200, 500 if LONG else 50, 200 if LONG else 3)
        repaired += check_capture(packed, folder, 4000 if LONG else 100, 500 if LONG else 6, 200 if LONG else 1)
        count.ok("many can be repaired", repaired > 15 or "SHARE" in os.environ, str(repaired))
    finally:
        shutil.rmtree(folder)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
