#!/usr/bin/env python3
"""Compares the names in a recording of tests/programs/jit_names.c with those that it printed.

    jit_names_check.py [--without] [--some] PRINTED STACKREEL CAPTURE...

Each sample of such code must have the name of the function that ran at its time, or with --without, none. Several
captures are parts of one recording.  --some: not each function has samples in each.
"""

import re
import subprocess
import sys


def printed(path):
    """(address, size) of the memory; [(start, end, name)]"""
    runs = []
    with open(path) as file:
        _, address, size = file.readline().split()
        for line in file:
            start, end, name = line.rstrip("\n").split(" ", 2)
            runs.append((int(start), int(end), name))
    return (int(address, 16), int(size, 16)), runs


def leaves(stackreel, capture):
    """(time, address, name) of each sample's first frame."""
    out = subprocess.run([stackreel, "script", "--ns", capture], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=True).stdout.decode()
    for sample in out.split("\n\n"):
        lines = sample.strip("\n").split("\n")
        time = re.search(r" (\d+)\.(\d{9}): ", lines[0])
        frame = re.match(r"\s+([0-9a-f]+) (.*?)(?:\+0x[0-9a-f]+)? \(.*\)$", lines[1]) if len(lines) > 1 else None
        if time and frame:
            yield int(time[1]) * 10 ** 9 + int(time[2]), int(frame[1], 16), frame[2]


def main(arguments):
    without, some = "--without" in arguments, "--some" in arguments
    path, stackreel, *captures = [a for a in arguments if not a.startswith("--")]
    (address, size), runs = printed(path)
    problems, total = [], 0
    for capture in captures:
        counts = dict.fromkeys((run[2] for run in runs), 0)
        for time, pc, name in leaves(stackreel, capture):
            running = [run[2] for run in runs if run[0] <= time <= run[1]]
            if not address <= pc < address + size or not running:
                continue
            counts[running[0]] += 1
            if name in counts if without else name != running[0]:
                problems.append("%s: %d: %s runs, but it is named %s" % (capture, time, running[0], name))
        print(capture, counts)
        total += sum(counts.values())
        if not some and min(counts.values()) < 5:
            problems.append("%s: samples: %s" % (capture, counts))
    if not total:
        problems.append("no samples of such code")
    print("\n".join(problems[:10]), len(problems))
    return bool(problems)


sys.exit(main(sys.argv[1:]))
