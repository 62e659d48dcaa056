#!/usr/bin/env python3
"""The golden archive: every version prints the texts in testdata/golden for it, and it has every kind of record.

    test-golden.py [--write DIR]    write the texts of DIR's captures, for make.sh

    O=DIR   the object directory (build)
"""

import hashlib
import json
import lzma
import os
import re
import subprocess
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "reader")]
import counting
import reel_cipher
import reel_reader

TOOL = os.path.join(os.environ.get("O", "build"), "stackreel")
GOLDEN = "testdata/golden/"
KEY = "testdata/format/encrypted.key"
CPUS = "x86_64", "aarch64", "riscv64", "s390x", "i386"
# The commands whose texts are in files with these names.
TEXTS = {
    "script": ("script", "--no-host-files"),
    "report": ("report", "--no-pager", "--names=full", "--no-host-files"),
    "folded": ("folded", "--no-host-files"),
    "info": ("info", "--no-host-files"),
    "ndjson": ("export", "--format=ndjson", "-o", "-", "--no-host-files"),
    "verify": ("verify",),
}
DUMP = "dump", "--json", "--bytes"
# The SHA-256 of each release's list of files and their SHA-256. Never change a line; a later release may add one.
FROZEN = {
    "SHA256SUMS-1.0": "79dc7521ae51ba61274070a7c357bff3d252a93b60bfbaaceaf55fc13cb0633a",
}
count = counting.Count()


def run(*arguments):
    environment = dict(os.environ, LC_ALL="C.UTF-8", TZ="UTC")
    done = subprocess.run([TOOL] + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, timeout=100, env=environment)
    return done.returncode, done.stdout, done.stderr


def key_of(name):
    return ["--identity", KEY] if name.endswith("-encrypted") else []


def first_difference(wanted, found):
    for i, (a, b) in enumerate(zip(wanted.split(b"\n"), found.split(b"\n"))):
        if a != b:
            return "line %d is %r, not %r" % (i + 1, b, a)
    return "%d bytes, not %d" % (len(found), len(wanted))


def text_of(command, folder, name):
    """Its status, its text without the folder's name, and its messages."""
    path = folder + name + ".reel"
    status, text, errors = run(*command, *key_of(name), path)
    return status, text.replace(os.fsencode(path), os.fsencode(name + ".reel")), errors


def golden(name, suffix):
    with lzma.open("%s%s.%s.xz" % (GOLDEN, name, suffix)) as file:
        return file.read()


def check_texts(name):
    for suffix, command in TEXTS.items():
        status, found, errors = text_of(command, GOLDEN, name)
        wanted = golden(name, suffix)
        count.ok("%s: %s" % (name, suffix), status == 0 and found == wanted,
                 first_difference(wanted, found) + errors.decode("utf-8", "replace"))


def check_frozen():
    """The files of releases are as they were released."""
    for sums, wanted in FROZEN.items():
        with open(GOLDEN + sums, "rb") as file:
            text = file.read()
        count.ok(sums + " never changes", hashlib.sha256(text).hexdigest() == wanted)
        for line in text.decode().splitlines():
            digest, _, name = line.partition("  ")
            with open(GOLDEN + name, "rb") as file:
                count.ok(name + " never changes", hashlib.sha256(file.read()).hexdigest() == digest)


def check_dump():
    """Each field of each record. A later version may show more fields."""
    wanted, found = ([json.loads(line) for line in text.splitlines()] for text in (golden("records", "dump"), text_of(DUMP, GOLDEN, "records")[1]))
    count.ok("records: the number in dump", len(wanted) == len(found), "%d, not %d" % (len(found), len(wanted)))
    for one, other in zip(wanted, found):
        count.ok("records: dump of " + one["record"], one == {key: other.get(key) for key in one}, str(other))


def write_texts(folder):
    for name in sorted(name[:-5] for name in os.listdir(folder) if name.endswith(".reel")):
        for suffix, command in dict(TEXTS, **({"dump": DUMP} if name == "records" else {})).items():
            with lzma.open("%s/%s.%s.xz" % (folder, name, suffix), "wb", preset=9 | lzma.PRESET_EXTREME) as file:
                file.write(text_of(command, folder + "/", name)[1])


def ids_in(path):
    """The ids of all records."""
    found = set()
    with open(path, "rb") as file:
        capture = reel_reader.Capture(file, lambda problem: None, identity=reel_cipher.Identity(KEY))
        for block in capture.blocks():
            raw, at = capture.decrypted(block)[1], 0
            while at < len(raw):
                tag, at = number(raw, at)
                size, at = number(raw, at)
                found.add(tag // 2)
                at += size
    return found


def number(raw, at):
    value = shift = 0
    while True:
        value |= (raw[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if raw[at - 1] < 128:
            return value, at


def known_ids():
    """The names in the schema, with the numbers in SPEC.md."""
    with open("format/schema.c", encoding="utf-8") as file:
        names = set(re.findall(r"\tSCHEMA\((\w+),|\[REEL_RECORD_(\w+)\] = \{ \"", file.read()))
    names = {a or b for a, b in names}
    with open("SPEC.md", encoding="utf-8") as file:
        text = file.read()
    ids = {name: int(id) for id, name in re.findall(r"^\| (\d+) \| (\w+) \| \w+ \| (?:yes|no) \|$", text, re.M)}
    size = len(text.partition("\n## Annex A.")[0].encode())
    count.ok("a reader of samples needs at most 60 kB of SPEC.md", size < 60000 < len(text), "%d bytes" % size)
    count.ok("schema and SPEC.md have the same records", names == set(ids), str(names ^ set(ids)))
    return ids


def main():
    if not os.access(TOOL, os.X_OK):
        count.skip(TOOL + " is not built")
        return count.finish()
    if sys.argv[1:2] == ["--write"]:
        return write_texts(sys.argv[2])
    check_frozen()
    names = sorted(name[:-5] for name in os.listdir(GOLDEN) if name.endswith(".reel"))
    for cpu in CPUS:
        count.ok("captures of " + cpu, any(name.startswith(cpu) for name in names))
    found = set()
    for name in names:
        check_texts(name)
        found |= ids_in(GOLDEN + name + ".reel")
    check_dump()
    for name, id in sorted(known_ids().items(), key=lambda item: item[1]):
        count.ok("%s (%d) is in one of them" % (name, id), id in found)
    size = sum(os.path.getsize(GOLDEN + name) for name in os.listdir(GOLDEN))
    count.ok("its size stays small", size < 768 << 10, "%d bytes" % size)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
