#!/usr/bin/env python3
"""Fuzzes the commands of stackreel with captures that are damaged inside, under right checksums.

    commands.py --stackreel PROGRAM [--seconds N | --hours N] [--seed N] [--finds DIRECTORY] [--command NAME]...

Takes real captures of testdata/ apart into blocks and records, changes some of them (fields, order, records of other
captures, bytes of samples), and writes them with new sizes, counts, checksums, index and trailer, so that no command
stops at the container.  Each capture goes to one command, in turn.

A run passes if the command ends by itself with a documented status, in time, without a message of a sanitizer, with
bounded output, and if `verify` accepts the captures it made, readelf the core files, Python drgn's scripts, and the
page's own code the pages.  A failing input is kept, and its command line printed.
 The last line says how many runs passed and failed.
"""

import argparse
import copy
import glob
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests/reader"))
# pylint: disable=wrong-import-position
import reel_builder
import reel_reader
from reel_builder import SAMPLES, SIDE, uv

# The limits of a run: seconds of time and of CPU, bytes of output.
TIME = 60
CPU = 30
OUTPUT = 256 << 20
# Ended by a signal, or by the shell's convention for one.
STATUSES = range(0, 5)
# Base captures are small, so that a run takes milliseconds.
BASE_SIZE = 64 << 10

# Ids of records (SPEC.md, section 5 and Appendix A).
END, COLUMNS = 15, 35

# {in}, {other}: damaged captures; {out}: a file to make; {reel}: a capture to make.
COMMANDS = {
    "report": ["--stdio {in}", "--stdio --tree --by line {in}", "--stdio --by thread --children {in}", "--stdio --by state,cpu,function {in}"],
    "annotate": ["{in}"],
    "script": ["{in}"],
    "folded": ["{in}"],
    "view": ["-o {out}.html {in}", "--source -o {out}.html {other} {in}"],
    "flamegraph": ["-o {out}.html {in}", "-o {out}.svg {in}", "--diff {other} -o {out}.html {in}"],
    "aggregate": ["-o {out} {in} {other}"],
    "export": ["--format=%s -o {out} {in}" % name for name in (
        "pprof", "perfetto", "otlp", "speedscope", "firefox", "callgrind", "sqlite", "ndjson", "csv",
        "perf-data", "perf-script", "llvm-sample-profile")] + ["--format=parquet -o {out}.d {in}"],
    "core": ["--sample 1 --force -o {out} {in}"],
    "gdb": ["--sample 1 --force {in} -- -nx -batch"],
    "values": ["main {in}", "--exact main {in}"],
    "sql": ["{in} 'select count(*), sum(weight) from samples'"],
    "diff": ["{in} {other}", "--json {in} {other}"],
    "info": ["{in}", "--json {in}"],
    "doctor": ["{in}"],
    "dump": ["{in}", "--json {in}"],
    "scrub": ["-o {reel} {in}"],
    "shrink": ["-o {reel} {in}", "--archive -o {reel} {in}"],
    "cut": ["--time 0..1s -o {reel} {in}"],
    "merge": ["-o {reel} {in} {other}"],
    "pack": ["-o {reel} {in}"],
    "unpack": ["-o {out} {in}"],
    "resolve": ["-o {reel} {in}"],
    "verify": ["{in}", "--json {in}"],
    "repair": ["-o {reel} {in}"],
}

if not shutil.which("gdb"):
    del COMMANDS["gdb"]

# Runs a script for drgn without drgn.
DRGN = """
import sys
class Module:
    def try_file(self, file, force):
        pass
class Program:
    def modules(self):
        return []
    def extra_module(self, name, create):
        return Module()
    def threads(self):
        return iter([self])
    def stack_trace(self):
        return ""
with open(sys.argv[1], encoding="utf-8") as file:
    exec(file.read(), {"prog": Program()})
"""

# What reads the files that a command made, and its files.
READERS = [
    (["readelf", "-lnW"], "out", ("core",)),
    ([sys.executable, "-c", DRGN], "out.py", ("core",)),
    (["node", os.path.join(HERE, "read_page.mjs")], "out.html", ("view", "flamegraph")),
]


class Block:
    """A block of a base capture: the fields of its header, and its records as (tag, payload)."""

    def __init__(self, header, raw):
        self.type = header.type
        self.flags = header.flags
        self.expanded = header.expanded_size
        self.times = header.time_first, header.time_last
        self.records = list(split_records(raw))

    def raw(self):
        return [uv(tag) + uv(len(payload)) + payload for tag, payload in self.records]


def read_uv(raw, at):
    number = shift = 0
    while True:
        byte = raw[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at


def split_records(raw):
    at = 0
    while at < len(raw):
        tag, at = read_uv(raw, at)
        size, at = read_uv(raw, at)
        yield tag, raw[at:at + size]
        at += size


def load_bases():
    """Captures that the independent reader accepts, as lists of blocks."""
    bases = []
    for path in sorted(glob.glob(ROOT + "/testdata/*/*.reel") + glob.glob(ROOT + "/testdata/*/*/*.reel")):
        if os.path.getsize(path) > BASE_SIZE:
            continue
        problems = []
        with open(path, "rb") as file:
            try:
                capture = reel_reader.Capture(file, problems.append)
                blocks = [Block(*capture.decrypted(block)) for block in capture.blocks()
                          if block.type in (SIDE, SAMPLES)]
            except (reel_reader.ReelError, IndexError):
                continue
        if not problems and blocks:
            bases.append(blocks)
    return bases


# ---- changes ------------------------------------------------------------------------------------

NUMBERS = [0, 1, 2, 7, 0x7F, 0x80, 0xFF, 0xFFF, 0x1000, 0xFFFF, 1 << 31, (1 << 32) - 1, 1 << 47, 1 << 63,
           (1 << 64) - 1]


def change_bytes(chance, payload):
    payload = bytearray(payload)
    for _ in range(chance.choice((1, 1, 2, 8))):
        at = chance.randrange(len(payload)) if payload else 0
        how = chance.randrange(5)
        if how == 0 and payload:
            payload[at] ^= 1 << chance.randrange(8)
        elif how == 1 and payload:
            payload[at] = chance.randrange(256)
        elif how == 2:
            payload[at:at + chance.choice((1, 1, 2, 5, 9))] = uv(chance.choice(NUMBERS))
        elif how == 3:
            del payload[at:at + chance.choice((1, 4, 64))]
        else:
            payload[at:at] = payload[at:at + chance.choice((1, 8, 300))] * chance.choice((1, 3))
    return bytes(payload)


def change_records(chance, block, strangers):
    records = block.records
    at = chance.randrange(len(records)) if records else 0
    how = chance.randrange(7)
    if how == 0 and records:
        del records[at:at + chance.choice((1, 1, 5))]
    elif how == 1 and records:
        records.insert(chance.randrange(len(records) + 1), records[at])
    elif how == 2 and records:
        records.append(records.pop(at))
    elif how == 3:
        records.insert(at, chance.choice(strangers))
    elif how == 4 and records:
        records[at:at + 1] = [records[at]] * chance.choice((2, 50, 1000))
    elif records:
        tag, payload = records[at]
        records[at] = (tag, change_bytes(chance, payload))


def copy_of(block):
    made = copy.copy(block)
    made.records = list(block.records)
    return made


def change(chance, blocks, bases):
    """A copy of the blocks, changed in a few places."""
    copies = [copy_of(block) for block in blocks]
    other = chance.choice(bases)
    strangers = [record for block in other if block.type == SIDE for record in block.records] or [(1, b"")]
    for _ in range(chance.choice((0, 1, 1, 2, 4, 12))):
        if chance.random() < 0.1:
            at = chance.randrange(len(copies))
            copies.insert(chance.randrange(len(copies) + 1), copies.pop(at))
        elif chance.random() < 0.05:
            copies.insert(chance.randrange(len(copies) + 1), copy_of(chance.choice(other)))
        else:
            change_records(chance, chance.choice(copies), strangers)
    return copies


def count(blocks):
    """END's payload, which is right as long as all records are well-formed."""
    side = sum(len(block.records) for block in blocks if block.type == SIDE)
    samples = sum(read_uv(payload + b"\0", 0)[0]
                  for block in blocks if block.type == SAMPLES for tag, payload in block.records
                  if tag >> 1 == COLUMNS)
    return b"".join(map(uv, (10, 0, samples, 0, len(blocks), side)))


def seal(chance, blocks):
    reel = reel_builder.Reel()
    if chance.random() < 0.9:
        for block in blocks:
            if block.type == SIDE:
                block.records = [(tag, count(blocks) if tag >> 1 == END else payload)
                                 for tag, payload in block.records]
    for block in blocks:
        first, last = block.times
        reel.block(block.type, block.raw(), flags=block.flags,
                   expanded_size=chance.choice((block.expanded,) * 9 + (4 << 20,)),
                   time_first=first, time_last=last)
    if chance.random() < 0.9:
        reel.index()
        if chance.random() < 0.9:
            reel.trailer()
    return reel.data


# ---- runs ---------------------------------------------------------------------------------------

def limit():
    import resource  # pylint: disable=import-outside-toplevel
    resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT, OUTPUT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(arguments, folder):
    """The status, negative for a signal, None after a timeout; and the output, errors if any."""
    with open(os.path.join(folder, "stdout"), "w+b") as output, \
            open(os.path.join(folder, "stderr"), "w+b") as errors:
        try:
            status = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                                    cwd=folder, timeout=TIME, preexec_fn=limit, check=False).returncode
        except subprocess.TimeoutExpired:
            status = None
        errors.seek(0)
        output.seek(0)
        return status, (errors.read() or output.read(10000)).decode(errors="replace")


def problem_of(status, errors):
    if status is None:
        return "no end within %d seconds" % TIME
    for sign in ("Sanitizer", "runtime error:"):
        if sign in errors:
            return next(line for line in errors.splitlines() if sign in line)
    if status not in STATUSES:
        return "status %d" % status
    if status and not errors.strip():
        return "status %d without a message" % status
    return None


class Commands:
    """Command lines in turn, each run on its own damaged captures."""

    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.chance = random.Random(options.seed)
        self.bases = load_bases()
        self.lines = [(name, line) for name, lines in COMMANDS.items() for line in lines
                      if not options.command or name in options.command]
        self.passed = 0
        self.failed = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name):
        chance = self.chance
        data = seal(chance, change(chance, chance.choice(self.bases), self.bases))
        with open(self.path(name), "wb") as file:
            file.write(data)

    def once(self, name, line):
        for made in ("out", "out.py", "out.html", "out.svg", "reel"):
            subprocess.run(["rm", "-rf", self.path(made)], check=True)
        self.write("in")
        self.write("other")
        line = line.format(**{n: self.path(n) for n in ("in", "other", "out", "reel")})
        arguments = [self.options.stackreel, name, *shlex.split(line)]
        if name not in ("dump", "scrub", "merge", "verify", "repair", "unpack", "shrink", "cut"):
            arguments.insert(2, "--no-host-files")
        status, errors = run(arguments, self.folder)
        problem = problem_of(status, errors)
        if not problem and not status and os.path.exists(self.path("reel")):
            problem, errors = self.judge(line)
        if not problem:
            problem, errors = self.read(name)
        if problem:
            self.keep(arguments, problem, errors)
        else:
            self.passed += 1

    def read(self, command):
        for reader, made, commands in READERS:
            if command in commands and os.path.exists(self.path(made)) and shutil.which(reader[0]):
                status, errors = run([*reader, self.path(made)], self.folder)
                if status or "readelf: " in errors:
                    return "%s cannot read %s" % (reader[0], made), errors
        return None, ""

    def verify(self, name):
        return run([self.options.stackreel, "verify", self.path(name)], self.folder)

    def judge(self, line):
        """A capture made of whole ones is whole."""
        status, errors = self.verify("reel")
        problem = problem_of(status, errors)
        if not problem and status and not self.verify("in")[0] and (
                self.path("other") not in line or not self.verify("other")[0]):
            problem = "it made a capture that verify rejects"
        return problem, errors

    def keep(self, arguments, problem, errors):
        folder = os.path.join(self.options.finds, "%d-%d" % (self.options.seed, len(self.failed)))
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["cp", self.path("in"), self.path("other"), folder], check=True)
        with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
            log.write("%s\n%s\n%s" % (shlex.join(arguments), problem, errors))
        print("%s: %s, see %s" % (shlex.join(arguments[1:]), problem, folder), flush=True)
        self.failed.append(folder)

    def run(self):
        end = time.monotonic() + (self.options.hours * 3600 or self.options.seconds)
        while time.monotonic() < end and len(self.failed) < 20:
            for name, line in self.lines:
                self.once(name, line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--stackreel", required=True, type=os.path.abspath)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--hours", type=float, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--finds", default="finds", type=os.path.abspath)
    parser.add_argument("--command", action="append", choices=COMMANDS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        commands = Commands(options, folder)
        commands.run()
    print("%d runs passed, %d failed" % (commands.passed, len(commands.failed)))
    return 1 if commands.failed else 0


if __name__ == "__main__":
    sys.exit(main())
