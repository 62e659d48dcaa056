"""Interpreter frames of a capture's samples, with the names and lines of their functions."""

import collections
import os
import subprocess
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "reader"))
import reel_reader


def numbers(data):
    """The unsigned numbers in LEB128."""
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


class Function:
    def __init__(self, record):
        self.name, self.file = record["name"], record["file"]
        self.lines, position, line = [], 0, record["line"]
        fields = numbers(record["lines"])
        for step in fields:
            change = next(fields)
            position, line = position + step, line + (change >> 1 ^ -(change & 1))
            self.lines.append((position, line))

    def line(self, position):
        found = 0
        for start, line in self.lines:
            if start > position:
                break
            found = line
        return found


def samples(path):
    """Each sample with its thread's number and its frames: [name, file, line], or None without a function; by time."""
    functions, found, tids = {}, [], {}
    with open(path, "rb") as file:
        for _, record in reel_reader.Capture(file, print).all_records():
            if record["record"] == "FUNCTION":
                functions[record["id"]] = Function(record)
            elif record["record"] == "THREAD":
                tids[record["id"]] = record["tid"]
            elif record["record"] == "SAMPLE":
                found.append(record)
    for sample in sorted(found, key=lambda sample: sample["time"]):
        frames = []
        for number, position, _, _ in sample["runtime_frames"]["frames"] if sample["runtime_frames"] else []:
            function = functions.get(number)
            frames.append([function.name, function.file, function.line(position)] if function else None)
        yield sample, tids[sample["thread"]], frames


def stacks(path):
    """Each thread's stacks, in order, how many frames have no name, and how many samples with frames have a cut native stack."""
    unnamed, cut, found = 0, 0, collections.defaultdict(list)
    for sample, tid, frames in samples(path):
        unnamed += frames.count(None)
        found[tid].append(frames)
        cut += bool(frames and sample["flags"] & 1)
    return found, unnamed, cut


def guests(count, interpreter, program, argument, work):
    """Recordings of a program in the guests $CELLS, with the interpreters of Debian's $SUITES: the guest's name, the interpreter's version,
    what the program printed, and the capture."""
    for cell in os.environ.get("CELLS", "").split():
        for suite in os.environ.get("SUITES", "bookworm").split():
            name, out = "%s on %s" % (suite, cell), os.path.join(work, cell, suite)
            ran = subprocess.run([os.path.join(TESTS, "vm", "interpreter.sh"), cell, out, suite, interpreter, program, str(argument)],
                                 stderr=subprocess.PIPE, check=False)
            if ran.returncode == 77:
                count.skip("%s: %s" % (name, ran.stderr.decode().splitlines()[-1]))
            elif count.ok("%s: recorded" % name, ran.returncode == 0, ran.stderr.decode()):
                with open(os.path.join(out, "version")) as version, open(os.path.join(out, "stacks")) as printed:
                    yield name, version.read(), printed.read(), os.path.join(out, "interpreter.reel")
