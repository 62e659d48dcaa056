# SPDX-License-Identifier: Apache-2.0
"""End-to-end replay: perf.data files and the captures made from them, so that all replay the same samples."""

import contextlib
import os

import captures
from host import CACHE, OBJECTS, STACKREEL, NotRun, alternate, built, log, output, peer
from table import Row, number

PART = "Replay, a cold start: about 10,000 samples, from the start of the program to the end of its output, with inlined functions"
STEADY = "Replay, the steady rate: 10^6 samples of the same program"
MORE = "Replay: CPUs and memory"
CROWD = "Replay: many processes or threads, against one program; samples of a CPU second, -j1, with inlined functions"
TARGETS = {"cppcheck": ">= 50"}
STEADY_SAMPLES = 1000000
STEADY_BYTES = 1 << 30


def replayers(data, reel):
    """The commands that replay a capture, by name, and why some cannot."""
    found, missing = {"ours": [STACKREEL, "folded", "-q", reel]}, {}
    for name, options in (("perf-new", ["script", "--max-stack", "2000", "-i", data]),
                          ("perfparser", ["--max-frames", "2000", "--input", data]),
                          ("samply", ["import", "--save-only", "--no-open", "--output", CACHE / "samply.json.gz", data])):
        try:
            found[name] = peer(name) + options
        except NotRun as error:
            missing[name] = error
    return found, missing


LABELS = {"perf-new": "newest perf script", "perfparser": "hotspot-perfparser", "samply": "samply import, addresses only"}


def cold(name, data, reel, rounds):
    """Cold starts of all peers, in turn."""
    samples = captures.info(reel).samples
    found, missing = replayers(data, reel)
    taken = {**alternate(found, rounds), **missing}
    ours = taken["ours"]
    if isinstance(ours, NotRun):
        raise ours
    rows = []
    for label, text in LABELS.items():
        theirs = taken[label]
        row = Row(PART, name, text, "samples/s", samples / ours.wall, note="%d samples" % samples)
        if label == "perf-new":
            row.target = TARGETS.get(name, "")
        rows.append(row)
        if isinstance(theirs, NotRun):
            row.why = str(theirs)
            continue
        row.theirs = samples / theirs.wall
        row.note += "; by CPU time %s" % number(cpu(theirs) / cpu(ours))
        if label in ("perf-new", "samply"):
            rows.append(Row(MORE, name + ": peak memory", text, "B", ours.memory, theirs.memory))
    return rows


def steady(name, data, reel, quick):
    """The samples repeated many times; samply reads them once, and its start is subtracted."""
    repeat, long, short = OBJECTS / "bench/repeat", CACHE / "steady.reel", CACHE / "steady-tenth.reel"
    built(repeat)
    samples = captures.info(reel).samples
    # The number of repetitions that makes a million samples, in at most a GiB; and a tenth of that.
    wanted = min(STEADY_SAMPLES / samples, STEADY_BYTES / reel.stat().st_size) / (10 if quick else 1)
    times = 10 * max(1, round(wanted / 10))
    tried = {"all": [STACKREEL, "folded", "-q", long], "one": [STACKREEL, "folded", "-q", "-j1", long],
             "tenth": [STACKREEL, "folded", "-q", short]}
    with contextlib.suppress(NotRun):
        tried["samply"] = replayers(data, reel)[0]["samply"]
        tried["samply's start"] = peer("samply") + ["--version"]
    try:
        output(repeat, times, reel, long)
        output(repeat, times // 10, reel, short)
        taken = alternate(tried, 2 if quick else 3)
    finally:
        captures.remove(long, short)
    for label in ("all", "one", "tenth"):
        if isinstance(taken[label], NotRun):
            raise taken[label]
    return list(steady_rows(name, samples, times, taken))


def steady_rows(name, samples, times, taken):
    ours = taken["all"]
    row = Row(STEADY, name, LABELS["samply"], "samples/s", times * samples / ours.wall, target=">= 3", note="%d samples" % (times * samples))
    samply, start = taken.get("samply"), taken.get("samply's start")
    if samply is None or isinstance(samply, NotRun) or isinstance(start, NotRun):
        row.why = "samply: %s" % (samply or "not here")
    else:
        row.theirs = samples / max(samply.wall - start.wall, 0.001)
    yield row
    yield Row(MORE, name + ": peak memory, %d samples" % (times * samples), "a tenth of them", "B", ours.memory, taken["tenth"].memory, "<= 1.1")
    yield Row(MORE, name + ": all of %d CPUs" % os.cpu_count(), "-j1", "samples/s", times * samples / ours.wall, times * samples / taken["one"].wall,
              ">= 1.8" if os.cpu_count() == 2 else "", note="CPU time %.2f of -j1's" % (cpu(ours) / cpu(taken["one"])))


def cpu(taken):
    return taken.user + taken.system


def crowd(name, quick):
    """The rate of a workload of many processes or threads, and that of one program, as our recorder records them."""
    single = captures.CROWDS[name]
    reels = {what: CACHE / (what + ".crowd.reel") for what in (name, single)}
    try:
        for what, reel in reels.items():
            captures.record(reel, 999, captures.command(what, 3 if quick else captures.SECONDS.get(what, 10)), ["--raw-stacks"])
        samples = {what: captures.info(reel).samples for what, reel in reels.items()}
        taken = alternate({what: [STACKREEL, "folded", "-q", "-j1", reel] for what, reel in reels.items()}, 3)
    finally:
        captures.remove(*reels.values())
    for result in taken.values():
        if isinstance(result, NotRun):
            raise result
    rates = {what: samples[what] / cpu(taken[what]) for what in reels}
    row = Row(CROWD, name, single, "samples/s", rates[name], rates[single], ">= 0.7", note="%d and %d samples" % tuple(samples.values()))
    if name == "mixed":
        row.target, row.absolute = ">= 100000", True
    return row


def run(names, quick):
    """All rows of this part."""
    built(STACKREEL)
    rows = []
    for name in names:
        log("replay: " + name)
        try:
            if name in captures.CROWDS:
                rows.append(crowd(name, quick))
                continue
            data = captures.perf_data(name, quick)
            reel, importing = captures.imported(data)
            rows += cold(name, data, reel, 3)
            rows.append(Row(MORE, name + ": import of perf.data, before", unit="samples/s", ours=captures.info(reel).samples / importing.wall))
            if not quick or name == names[0]:
                rows += steady(name, data, reel, quick)
        except NotRun as error:
            rows.append(Row(PART, name, why=str(error)))
    captures.remove(CACHE / "samply.json.gz")
    return rows
