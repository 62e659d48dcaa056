#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cold symbolization: the addresses of a recording's largest module, each once, with inlined functions and lines, from the start
of the process to the end of its output, compared with llvm-symbolizer.

    bench/symbols.py CAPTURE...    for existing captures: figures, and the number and places of differing answers

The programs are those of $O (default: build): tests/names/trace_symbols prints the addresses in the traces, tests/names/symbolize is
ours.
"""

import collections
import re
import sys
import tempfile
from pathlib import Path

import captures
from host import OBJECTS, NotRun, alternate, built, log, output, peer
from table import Row, plain

PART = "Symbols: the unique addresses of the program, with inlined functions and lines, a cold start"
TARGETS = {"cppcheck": ">= 3", "sqlite": ">= 3"}
MEMORY = "peak memory"


def addresses_of(capture):
    """(file, file with its debug information, addresses) of the module with the most addresses, among those with inlined calls or
    lines."""
    found = collections.defaultdict(list)
    with_lines = collections.Counter()
    module = None
    for line in output(OBJECTS / "tests/names/trace_symbols", capture).splitlines():
        words = line.split("\t")
        if words[0] == "A":
            module = (words[1], words[1] if words[2] == "-" else words[2])
            found[module].append(words[3])
        elif words[0] == "F" and words[3:] and words[3] not in ("0", ""):
            with_lines[module] += 1
    best = max(with_lines, key=lambda it: (len(found[it]), it), default=None)
    if best is None:
        raise NotRun("no module has lines")
    return best[0], best[1], sorted(set(found[best]))


def with_input(command, path):
    """The command with a file as its standard input."""
    return ["sh", "-c", 'input=$1; shift; exec "$@" <"$input"', "sh", path] + command


def commands(file, debug, path, *options):
    ours = [OBJECTS / "tests/names/symbolize", *options] + (["--debug", debug] if debug != file else []) + [file]
    theirs = peer("llvm-symbolizer") + ["--inlines", "--obj=" + debug, *options]
    return {"ours": with_input(ours, path), "llvm-symbolizer": with_input(theirs, path)}


def chains(text):
    """Parses the output of both: for each address the frames, innermost first."""
    return [[tuple(lines[i : i + 2]) for i in range(0, len(lines) - 1, 2)] for lines in (b.splitlines() for b in text.strip().split("\n\n"))]


def same_function(ours, theirs):
    """For mangled names, where clones (f.part.0) and f@@VERSION count as the same function."""

    def bare(name):
        return re.sub(r"[.@].*", "", name)

    return bare(ours) == bare(theirs)


def same_place(ours, theirs):
    """./csu/./csu/x.c is ./csu/x.c: directory 0 of DWARF 5 is the unit's own (replay/dwarf/line_table.c)."""
    return re.sub(r"^.*/", "", ours) == re.sub(r"^.*/", "", theirs)


def differences(ours, theirs):
    """The number of differing addresses, by kind."""
    kinds = collections.Counter()
    for one, other in zip(chains(ours), chains(theirs)):
        if len(one) != len(other):
            kinds["depth"] += 1
        elif not all(same_place(a[1], b[1]) for a, b in zip(one, other)):
            kinds["file or line"] += 1
        elif not all(same_function(a[0], b[0]) for a, b in zip(one, other)):
            kinds["function"] += 1
    return kinds


def rows_of(name, capture, rounds):
    file, debug, addresses = addresses_of(capture)
    with tempfile.NamedTemporaryFile("w", suffix=".addresses") as given:
        given.write("\n".join(addresses) + "\n")
        given.flush()
        both = commands(file, debug, given.name)
        taken = alternate(both, rounds)
        ours, theirs = taken["ours"], taken["llvm-symbolizer"]
        if isinstance(ours, NotRun):
            raise ours
        note = "%d addresses of %s" % (len(addresses), Path(file).name)
        row = Row(PART, name, "llvm-symbolizer", "addresses/s", len(addresses) / ours.wall, target=TARGETS.get(name, ""))
        if isinstance(theirs, NotRun):
            row.why = str(theirs)
        else:
            row.theirs = len(addresses) / theirs.wall
            mangled = commands(file, debug, given.name, "--no-demangle")
            kinds = differences(output(*mangled["ours"]), output(*mangled["llvm-symbolizer"]))
            note += "; by CPU time %.1f" % ((theirs.user + theirs.system) / max(ours.user + ours.system, 1e-4))
            note += "; other answers: " + (", ".join("%d of %s" % (n, what) for what, n in kinds.items()) or "none")
        row.note = note
        yield row
        if row.theirs:
            yield Row(PART, name + ": " + MEMORY, "llvm-symbolizer", "B", ours.memory, theirs.memory)


def run(names, quick):
    """All rows of this part."""
    built(OBJECTS / "tests/names/trace_symbols", OBJECTS / "tests/names/symbolize")
    rows = []
    for name in names:
        log("symbols: " + name)
        try:
            reel, _ = captures.imported(captures.perf_data(name, quick))
            rows += rows_of(name, reel, 5 if quick else 11)
        except NotRun as error:
            rows.append(Row(PART, name, why=str(error)))
    return rows


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        return 2
    rows = []
    for path in sys.argv[1:]:
        try:
            rows += rows_of(Path(path).name.split(".")[0], Path(path), 11)
        except NotRun as error:
            rows.append(Row(PART, path, why=str(error)))
    print(plain(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
