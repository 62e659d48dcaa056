#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the names in traces with those that three symbolizers give for the same addresses.

    trace_symbols.py [--show N] [--limit N] [--llvm COMMAND] [--addr2line COMMAND]
                     [--eu COMMAND] ANSWERS...

ANSWERS is the output of tests/names/trace_symbols.  For each module it prints the number of addresses, the symbolizers
that agree with us, and the kinds of the others' differences.  An address fails if two symbolizers agree with each
other and not with us, or if none agrees with us.
"""
import argparse
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../names"))
from symbol_oracles import (alike, aliases, ask_addr2line, ask_eu_addr2line,  # noqa: E402
                            ask_llvm, kind_of, misses_inlined, same)

ORACLES = {"llvm": ask_llvm, "addr2line": ask_addr2line, "eu": ask_eu_addr2line}


def read_answers(paths):
    """{(file, debug file or "-"): {address: frames}}"""
    modules = collections.defaultdict(dict)
    for path in paths:
        with open(path) as file:
            for line in file:
                kind, *fields = line.rstrip("\n").split("\t")
                if kind == "A":
                    frames = []
                    modules[fields[0], fields[1]][int(fields[2], 16)] = frames
                else:
                    name = os.path.normpath(fields[1]) if fields[1] else ""
                    frames.append((fields[0], name, int(fields[2])))
    return modules


def verdict(ours, said, alias):
    """(the class to count it in, whether it fails)."""
    if ours[-1][0].endswith("@plt"):
        return "PLT stubs, which none of them names (tests/names/test-stripped.sh compares with objdump)", False
    with_us = [name for name in said if alike(ours, said[name], alias)]
    against = [name for name in said if name not in with_us]
    if not against:
        exact = all(same(ours, theirs, alias) for theirs in said.values())
        return ("all agree" if exact else "all agree except for forms"), False
    kinds = ", ".join("%s: %s" % (name, kind_of(ours, said[name])) for name in against)
    if not with_us and len(said) > 1:
        return "NONE AGREES: " + kinds, True
    if with_us == ["llvm"] and all(misses_inlined(ours, said[name], alias) for name in against):
        return "addr2line and eu miss inlined functions", False
    if len(against) == 2 and alike(said[against[0]], said[against[1]], alias):
        return "TWO AGAINST US: " + kinds, True
    return kinds, False


def show(what, examples):
    for address, ours, said in examples:
        print("  %s, such as 0x%x" % (what, address))
        for name, frames in (("ours", ours), *said.items()):
            print("    %-9s %s" % (name, " < ".join("%s %s:%d" % f for f in frames)))


def compare(path, debug, answers, options):
    whole = path if debug == "-" else debug
    addresses = sorted(answers)
    if options.limit and len(addresses) > options.limit:
        addresses = addresses[:: -(-len(addresses) // options.limit)]
    said = {name: ask(whole, addresses, vars(options)[name].split())
            for name, ask in ORACLES.items()}
    silent = [name for name in said if len(said[name]) != len(addresses)]
    for name in silent:
        del said[name]
    alias = aliases(whole)
    count, failed = collections.Counter(), 0
    examples = collections.defaultdict(list)
    for i, address in enumerate(addresses):
        theirs = {name: said[name][i] for name in said}
        what, fails = verdict(answers[address], theirs, alias)
        count[what] += 1
        failed += fails
        examples[what].append((address, answers[address], theirs))
    print("%s: %d of %d addresses%s: %s" % (
        path, len(addresses), len(answers),
        "".join(", %s has no answers" % name for name in silent),
        "; ".join("%s %d" % pair for pair in count.most_common())))
    for what in sorted(count):
        if not what.startswith("all agree"):
            show(what, examples[what][:options.show])
    return count, failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("answers", nargs="+")
    parser.add_argument("--show", type=int, default=1, help="examples of each class")
    parser.add_argument("--limit", type=int, default=0, help="addresses of a module")
    parser.add_argument("--llvm", default="llvm-symbolizer")
    parser.add_argument("--addr2line", default="addr2line")
    parser.add_argument("--eu", default="eu-addr2line")
    options = parser.parse_args()
    total, failed, passed = collections.Counter(), 0, 0
    for (path, debug), answers in sorted(read_answers(options.answers).items()):
        # The vDSO is not a file.
        if not path.startswith("/"):
            continue
        count, fails = compare(path, debug, answers, options)
        total += count
        failed += fails > 0
        passed += fails == 0
    print("total: %d addresses: %s" % (sum(total.values()), "; ".join("%s %d" % pair for pair in
                                                                     total.most_common())))
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
