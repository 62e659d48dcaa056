"""Interpreter frames of a capture's samples, with the names and lines of their functions."""

import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "reader"))
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


def stacks(path):
    """Each thread's stacks, in order, how many frames have no name, and how many samples with frames have a cut native stack."""
    functions, samples, tids, unnamed, cut = {}, [], {}, 0, 0
    with open(path, "rb") as file:
        for _, record in reel_reader.Capture(file, print).all_records():
            if record["record"] == "FUNCTION":
                functions[record["id"]] = Function(record)
            elif record["record"] == "THREAD":
                tids[record["id"]] = record["tid"]
            elif record["record"] == "SAMPLE":
                samples.append(record)
    found = collections.defaultdict(list)
    for sample in sorted(samples, key=lambda sample: sample["time"]):
        frames = []
        for number, position, _, _ in sample["runtime_frames"]["frames"] if sample["runtime_frames"] else []:
            function = functions.get(number)
            unnamed += function is None
            frames.append([function.name, function.file, function.line(position)] if function else None)
        found[tids[sample["thread"]]].append(frames)
        cut += bool(frames and sample["flags"] & 1)
    return found, unnamed, cut
