#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what three symbolizers say of each instruction of a program.

    symbol_differences.py SYMBOLIZE FILE [--debug FILE] [--addr2line PROGRAM] [--objdump PROGRAM]
                          [--every N]

Each is asked for mangled names, so demanglers' styles don't count.  It prints one line, and an
example of each kind of difference; the exit status is 1 if there is an address where
llvm-symbolizer and addr2line agree with each other and not with us.
"""
import argparse
import collections
import os
import re
import subprocess
import sys


def run(command, addresses=None):
    text = None if addresses is None else "".join("0x%x\n" % a for a in addresses)
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def instructions(objdump, path):
    listing = run([objdump, "-d", "-w", "--no-show-raw-insn", path])
    return [int(m, 16) for m in re.findall(r"^ *([0-9a-f]+):\t", listing, re.M)]


def frame(function, position):
    position = re.sub(r" \(discriminator \d+\)$", "", position)
    m = re.match(r"(.*?)(?::(\d+|\?))?(?::(\d+))?$", position)
    path, line = m[1], m[2] or "0"
    line = 0 if line == "?" else int(line)
    # A bare name with line 0 is what the symbol table's STT_FILE says: no source position.
    if path == "??" or (line == 0 and "/" not in path):
        path, line = "", 0
    return ("" if function == "??" else function, os.path.normpath(path) if path else "", line)


def parse_blocks(output):
    """Blocks of function and position lines, each closed by an empty line."""
    for block in output.split("\n\n"):
        lines = block.strip("\n").split("\n")
        if lines != [""]:
            yield [frame(*pair) for pair in zip(lines[::2], lines[1::2])]


def parse_addr2line(output):
    """`addr2line -a`: each address on a line of its own before its frames."""
    frames, lines = None, output.splitlines()
    i = 0
    while i < len(lines):
        if re.match(r"0x[0-9a-f]+$", lines[i]):
            if frames is not None:
                yield frames
            frames = []
            i += 1
        else:
            frames.append(frame(lines[i], lines[i + 1]))
            i += 2
    if frames is not None:
        yield frames


def aliases(path):
    """All names of each address, by name."""
    at = collections.defaultdict(set)
    for line in run(["nm", "--defined-only", path]).splitlines():
        address, kind, name = line.split(" ", 2)
        if kind in "tTwWiuV":
            at[int(address, 16)].add(name.split("@")[0])
    return {name: names for names in at.values() for name in names}


def strip_version(name):
    return name.split("@")[0] if not name.startswith("@") else name


def same(a, b, alias):
    """Equal, but for other names of the same symbol in the outermost frame."""
    if len(a) != len(b):
        return False
    for i, (x, y) in enumerate(zip(a, b)):
        if x[1:] != y[1:]:
            return False
        x, y = strip_version(x[0]), strip_version(y[0])
        if x != y and not (i + 1 == len(a) and y in alias.get(x, ())):
            return False
    return True


def kind_of(a, b):
    if len(a) != len(b):
        return "depth"
    for x, y in zip(a, b):
        if x[0] != y[0]:
            return "function"
        if x[1] != y[1]:
            return "file"
        if x[2] != y[2]:
            return "line"
    return "alias"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("symbolize")
    parser.add_argument("file")
    parser.add_argument("--debug")
    parser.add_argument("--addr2line", default="addr2line")
    parser.add_argument("--objdump", default="objdump")
    parser.add_argument("--ours", action="append", default=[], help="an option for SYMBOLIZE")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()

    whole = options.debug or options.file
    addresses = instructions(options.objdump, options.file)[:: options.every]
    ours = [options.symbolize, "--no-demangle"] + options.ours
    if options.debug:
        ours += ["--debug", options.debug]
    ours = list(parse_blocks(run(ours + [options.file], addresses)))
    llvm = list(parse_blocks(run(["llvm-symbolizer", "--no-demangle", "-e", whole], addresses)))
    bfd = list(parse_addr2line(run([options.addr2line, "-a", "-i", "-f", "-e", whole], addresses)))
    if not len(addresses) == len(ours) == len(llvm) == len(bfd):
        sys.exit("%d addresses, answers: ours %d, llvm %d, addr2line %d"
                 % (len(addresses), len(ours), len(llvm), len(bfd)))

    alias = aliases(whole)
    count = collections.Counter()
    examples = {}
    for address, o, l, b in zip(addresses, ours, llvm, bfd):
        agree = same(l, b, alias)
        if agree:
            what = "all agree" if same(o, l, alias) else "BOTH AGREE AGAINST US: " + kind_of(o, l)
        elif same(o, l, alias):
            what = "addr2line differs: " + kind_of(b, l)
        elif same(o, b, alias):
            what = "llvm differs: " + kind_of(l, b)
        else:
            what = "three answers: " + kind_of(o, l) + "/" + kind_of(o, b)
        count[what] += 1
        if what != "all agree":
            examples.setdefault(what, (address, o, l, b))
    print("%d addresses, %d frames: %s" % (len(addresses), sum(map(len, ours)), ", ".join(
        "%s %d" % pair for pair in sorted(count.items()))))
    for what, (address, o, l, b) in sorted(examples.items()):
        print("  %s, such as 0x%x" % (what, address))
        for name, frames in (("ours", o), ("llvm", l), ("bfd ", b)):
            print("    %s %s" % (name, " < ".join("%s %s:%d" % f for f in frames)))
    sys.exit(any(what.startswith("BOTH") for what in count))


if __name__ == "__main__":
    main()
