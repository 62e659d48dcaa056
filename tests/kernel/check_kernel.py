#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the output of tests/names/trace_symbols --kernel with addr2line.

    check_kernel.py ANSWERS TRUTH

TRUTH, written by kernel_capture.py, gives the file, section and offset of each runtime address. An address that two
modules had, one after the other, has the answers of both.
"""

import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../names"))
from symbol_oracles import aliases, parse_addr2line, run, same  # noqa: E402


def read_answers(path):
    """Runtime address: the distinct answers for it."""
    answers = collections.defaultdict(list)
    frames = []
    for line in open(path):
        kind, *fields = line.rstrip("\n").split("\t")
        if kind == "A":
            frames = []
            answers[int(fields[3], 16)].append(frames)
        else:
            frames.append((fields[0], os.path.normpath(fields[1]) if fields[1] else "", int(fields[2])))
    return answers


def main():
    answers = read_answers(sys.argv[1])
    wanted = collections.defaultdict(list)
    for line in open(sys.argv[2]):
        address, path, section, offset = line.rstrip("\n").split("\t")
        wanted[path, section].append((int(address, 16), int(offset, 16)))
    expected = collections.defaultdict(list)
    alias = {}
    for (path, section), pairs in wanted.items():
        command = ["addr2line", "-a", "-i", "-f", "-e", path]
        if section != "-":
            command += ["-j", section]
        found = parse_addr2line(run(command, [offset for _, offset in pairs]))
        names = aliases(path)
        for (address, _), frames in zip(pairs, found, strict=True):
            expected[address].append((frames, names))
    wrong = inlined = 0
    for address, pairs in sorted(expected.items()):
        ours = answers.pop(address, [])
        inlined += any(len(frames) > 1 for frames, _ in pairs)
        for frames, names in pairs:
            if not any(same(frames, mine, names) for mine in ours):
                wrong += 1
                print("%#x: %s, not one of %s" % (address, frames, ours))
        for mine in ours:
            if not any(same(frames, mine, names) for frames, names in pairs):
                wrong += 1
                print("%#x: ours is %s, not %s" % (address, mine, [p[0] for p in pairs]))
    for address, mine in answers.items():
        wrong += 1
        print("%#x is not in the capture: %s" % (address, mine))
    print("%d addresses, %d with inlined functions, %d wrong" % (len(expected), inlined, wrong))
    return 1 if wrong or not inlined else 0


if __name__ == "__main__":
    sys.exit(main())
