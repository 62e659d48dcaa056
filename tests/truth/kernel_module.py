#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the answers of tests/names/trace_symbols --kernel for a module with addr2line's.

    kernel_module.py ANSWERS MODULE.ko ADDR2LINE

Our addresses follow the layout of the module's sections (replay/files/relocated.c), which begins with .text; other sections
are not compared.
"""

import collections
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../names"))
from symbol_oracles import alike, aliases, parse_addr2line, run  # noqa: E402


def main():
    path, module, addr2line = sys.argv[1:]
    answers, keep, frames = {}, False, []
    for line in open(path):
        kind, *fields = line.rstrip("\n").split("\t")
        if kind == "A":
            keep, frames = os.path.basename(fields[0]) == os.path.basename(module), []
            if keep:
                answers[int(fields[2], 16)] = frames
        else:
            frames.append((fields[0], os.path.normpath(fields[1]) if fields[1] else "", int(fields[2])))
    size = int(re.search(r" \.text +PROGBITS +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+)",
                         run(["readelf", "-SW", module]))[1], 16)
    text = 0x10000
    inside = sorted(a for a in answers if 0 <= a - text < size)
    said = parse_addr2line(run([addr2line, "-a", "-i", "-f", "-e", module, "-j", ".text"],
                               [a - text for a in inside]))
    names, wrong, count = aliases(module), 0, collections.Counter()
    for address, theirs in zip(inside, said, strict=True):
        count["inlined"] += len(theirs) > 1
        if not alike(answers[address], theirs, names):
            wrong += 1
            print("%#x: ours %s, addr2line %s" % (address - text, answers[address], theirs))
    print("%s: %d addresses, %d in .text, %d with inlined functions, %d wrong"
          % (os.path.basename(module), len(answers), len(inside), count["inlined"], wrong))
    return 1 if wrong or not inside else 0


if __name__ == "__main__":
    sys.exit(main())
