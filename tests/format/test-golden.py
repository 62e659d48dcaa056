#!/usr/bin/env python3
"""The golden archive: every version prints the texts in testdata/golden for it, and it has every kind of record.

    O=DIR   the object directory (build)
    LONG=1  make.sh also makes captures with the same texts
"""

import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "reader")]
import counting
import reel_cipher
import reel_reader

TOOL = os.path.join(os.environ.get("O", "build"), "stackreel")
GOLDEN = "testdata/golden/"
KEY = "testdata/format/encrypted.key"
CPUS = "x86_64", "aarch64", "riscv64", "s390x", "i386"
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


def check_texts(name, folder=GOLDEN):
    path = folder + name + ".reel"
    for command in (["script"], ["report", "--no-pager", "--names=full"]):
        with lzma.open(GOLDEN + name + "." + command[0] + ".xz") as file:
            wanted = file.read()
        status, found, errors = run(*command, "--no-host-files", *key_of(name), path)
        # The report names the file.
        found = found.replace(os.fsencode(path), os.fsencode(name + ".reel"))
        count.ok("%s: %s" % (path, command[0]), status == 0 and found == wanted,
                 first_difference(wanted, found) + errors.decode("utf-8", "replace"))
    status, found, _ = run("verify", *key_of(name), path)
    count.ok(path + ": it is whole", status == 0, found.decode("utf-8", "replace"))


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
    names = sorted(name[:-5] for name in os.listdir(GOLDEN) if name.endswith(".reel"))
    for cpu in CPUS:
        count.ok("captures of " + cpu, any(name.startswith(cpu) for name in names))
    found = set()
    for name in names:
        check_texts(name)
        found |= ids_in(GOLDEN + name + ".reel")
    for name, id in sorted(known_ids().items(), key=lambda item: item[1]):
        count.ok("%s (%d) is in one of them" % (name, id), id in found)
    size = sum(os.path.getsize(GOLDEN + name) for name in os.listdir(GOLDEN))
    count.ok("its size stays small", size < 512 << 10, "%d bytes" % size)
    if os.environ.get("LONG"):
        folder = tempfile.mkdtemp(prefix="stackreel-golden.") + "/"
        status = subprocess.run([GOLDEN + "make.sh", folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
        count.ok("make.sh", status == 0, "status %d" % status)
        for name in names:
            check_texts(name, folder)
        shutil.rmtree(folder)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
