# SPDX-License-Identifier: Apache-2.0
"""Registers and bytes in memory to addresses, by bench/unwind: ours, libdw's and libunwind's, in turn, on the same
samples; and the start of unwinders for many processes."""

import re

import captures
from host import OBJECTS, STACKREEL, NotRun, built, log, output
from table import Row

PART = "Unwinding: samples in memory to addresses, one thread"
ORDINARY, RECURSION, COLD = ">= 20000000", ">= 150000000", ">= 10"
LINE = re.compile(r"^  (\S.*?)\s+warm\s+(\d+) samples/s\s+([\d.]+) M frames/s.*?cold\s+(\d+) samples/s", re.M)
# One process may take 50 us and 64 KB, the opening of its files included.
UNWINDERS, UNWINDER_MS, UNWINDER_MB = 700, 0.05, 0.064
STARTED = re.compile(r"unwinders for (\d+) processes, .*: ([\d.]+) ms and ([\d.]+) MB; without sharing ([\d.]+) ms and ([\d.]+) MB")
RULES = re.compile(r"([\d.]+) MB, ([\d.]+) bytes an address")


def figures(text):
    """The output of bench/unwind for one capture: name -> (frames/s warm, samples/s cold)."""
    found = {name: (float(frames) * 1e6, float(cold)) for name, _, frames, cold in LINE.findall(text)}
    if "ours" not in found:
        raise NotRun("bench/unwind prints nothing of ours")
    return found


def rows_of(name, found):
    ours = found["ours"]
    for peer in ("libdw", "libunwind"):
        theirs = found.get(peer)
        if not theirs:
            yield Row(PART, name, peer, "frames/s", ours[0], why=peer + " is not here")
            continue
        yield Row(PART, name + ", warm", peer, "frames/s", ours[0], theirs[0])
        yield Row(PART, name + ", cold", peer, "samples/s", ours[1], theirs[1], COLD if peer == "libdw" else "")
    yield Row(PART, name + ", warm", unit="frames/s", ours=ours[0], target=RECURSION if name in ("descent", "recursion") else ORDINARY, absolute=True)


def rows_of_unwinders(program, reel):
    """Unwinders of stackreel.h for many processes, with shared files and without."""
    match = STARTED.search(output(program, "--unwinders", UNWINDERS, reel))
    if not match:
        raise NotRun("bench/unwind prints nothing of unwinders")
    processes, *figures = match.groups()
    what = "%d unwinders for compile's %s processes: map files, unwind once" % (UNWINDERS, processes)
    for i, (unit, limit) in enumerate((("ms", UNWINDER_MS), ("MB", UNWINDER_MB))):
        yield Row(PART, what, "without sharing", unit, float(figures[i]), float(figures[2 + i]), "<= %g" % (limit * UNWINDERS), absolute=True)


def run(names, quick):
    """All rows of this part."""
    program = OBJECTS / "bench/unwind"
    built(STACKREEL, program)
    rows = []
    for name in names:
        log("unwinding: " + name)
        try:
            reel, _ = captures.imported(captures.perf_data(name, quick))
            text = output(program, "--rounds", "3" if quick else "5", "--peers-rounds", "1" if quick else "3",
                          *(["--samples", "1000"] if quick else ["--samples", "10000"]), reel)
            rows += rows_of(name, figures(text))
            if name == "compile":
                rows += rows_of_unwinders(program, reel)
        except NotRun as error:
            rows.append(Row(PART, name, why=str(error)))
    if not quick:
        match = RULES.search(output(program, "--rules", "10000000"))
        if match:
            rows.append(Row(PART, "rules of 10 million addresses (%s bytes an address)" % match.group(2), unit="MB", ours=float(match.group(1)),
                            target="<= 200", absolute=True))
    return rows
