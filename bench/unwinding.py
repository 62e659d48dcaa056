# SPDX-License-Identifier: Apache-2.0
"""Registers and bytes in memory to addresses, by bench/unwind: ours, libdw's and libunwind's, in turn, on the same
samples."""

import re

import captures
from host import OBJECTS, STACKREEL, NotRun, built, log, output
from table import Row

PART = "Unwinding: samples in memory to addresses, one thread"
ORDINARY, RECURSION, COLD = ">= 20000000", ">= 150000000", ">= 10"
LINE = re.compile(r"^  (\S.*?)\s+warm\s+(\d+) samples/s\s+([\d.]+) M frames/s.*?cold\s+(\d+) samples/s", re.M)
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
        except NotRun as error:
            rows.append(Row(PART, name, why=str(error)))
    if not quick:
        match = RULES.search(output(program, "--rules", "10000000"))
        if match:
            rows.append(Row(PART, "rules of 10 million addresses (%s bytes an address)" % match.group(2), unit="MB", ours=float(match.group(1)),
                            target="<= 200", absolute=True))
    return rows
