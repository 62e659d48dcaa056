#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the answers of three symbolizers for each instruction of a program.

    symbol_differences.py SYMBOLIZE FILE [--debug FILE] [--addr2line PROGRAM] [--objdump PROGRAM]
                          [--every N]

All print mangled names, so demanglers' styles do not matter.  It prints one line, and an example of each kind of
difference; the exit status is 1 if llvm-symbolizer and addr2line agree with each other and not with us about any
address.
"""
import argparse
import collections
import re
import sys

from symbol_oracles import aliases, ask_addr2line, ask_llvm, kind_of, parse_blocks, run, same


def instructions(objdump, path):
    listing = run([objdump, "-d", "-w", "--no-show-raw-insn", path])
    return [int(m, 16) for m in re.findall(r"^ *([0-9a-f]+):\t", listing, re.M)]


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
    llvm = ask_llvm(whole, addresses)
    bfd = ask_addr2line(whole, addresses, [options.addr2line])
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
