# SPDX-License-Identifier: Apache-2.0
"""Samples to blocks and back, by bench/format: synthetic stacks in which a few words change. No peer does that; there is no
target."""

import re

from host import OBJECTS, NotRun, built, log, output
from table import Row

PART = "The file format: stack bytes a second, of one thread"
LINE = re.compile(r"^(.*?)\s+encode\s+([\d.]+) GB/s.*?write\s+([\d.]+) GB/s.*?read\s+([\d.]+) GB/s", re.M)


def run(names, quick):
    """All rows of this part: the same for all workloads."""
    del names
    program = OBJECTS / "bench/format"
    built(program)
    if quick:
        return []
    log("codec")
    rows = []
    for shape, *rates in LINE.findall(output(program)):
        for what, rate in zip(("encoded", "encoded and compressed", "read"), rates):
            rows.append(Row(PART, "%s: %s" % (shape, what), unit="B/s", ours=float(rate) * 1e9))
    if not rows:
        raise NotRun("bench/format prints no rates")
    return rows
