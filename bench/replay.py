# SPDX-License-Identifier: Apache-2.0
"""Replay from end to end: perf.data files and the captures made of them, so that all replay the same samples."""

import contextlib

import captures
from host import CACHE, OBJECTS, STACKREEL, NotRun, alternate, built, log, measure, output, peer
from table import Row

PART = "Replay, a cold start: about 10,000 samples, from the start of the program to the end of its output, with inlined functions"
STEADY = "Replay, the steady rate: 10^6 samples of the same program"
GROWTH = "Replay: CPUs and memory"
TARGETS = {"cppcheck": ">= 50"}
STEADY_SAMPLES = 1000000


def commands(data, reel):
    """What replays a capture, by name, and why some of it cannot."""
    found, missing = {"ours": [STACKREEL, "folded", "-q", reel]}, {}
    for name, options in (("perf-new", ["script", "--max-stack", "2000", "-i", data]), ("perf", ["script", "--max-stack", "2000", "-i", data]),
                          ("perfparser", ["--max-frames", "2000", "--input", data]),
                          ("samply", ["import", "--save-only", "--no-open", "--output", CACHE / "samply.json.gz", data])):
        try:
            found[name] = peer(name) + options
        except NotRun as error:
            missing[name] = error
    return found, missing


LABELS = {"perf-new": "newest perf script", "perf": "perf script", "perfparser": "hotspot-perfparser", "samply": "samply import, addresses only"}


def of_workload(name, quick, rounds):
    """Cold starts of everybody, in turns."""
    data = captures.perf_data(name, quick)
    reel, importing = captures.imported(data)
    samples = captures.info(reel).samples
    found, missing = commands(data, reel)
    taken = alternate(found, rounds)
    ours = taken["ours"]
    if isinstance(ours, NotRun):
        raise ours
    rows = []
    for peer_name, label in LABELS.items():
        theirs = missing.get(peer_name) or taken[peer_name]
        row = Row(PART, name, label, "samples/s", samples / ours.wall, note="%d samples" % samples)
        if isinstance(theirs, NotRun):
            row.why = str(theirs)
        else:
            row.theirs = samples / theirs.wall
        if peer_name == "perf-new":
            row.target = TARGETS.get(name, "")
        rows.append(row)
        if peer_name in ("perf-new", "samply") and not row.why:
            rows.append(Row(GROWTH, name + ": peak memory", label, "B", ours.memory, theirs.memory))
    rows.append(Row(GROWTH, name + ": import of perf.data, before", "", "samples/s", samples / importing.wall))
    return rows, data, reel, samples, None if "samply" in missing or isinstance(taken["samply"], NotRun) else taken["samply"]


def start_of_samply(data):
    """What samply takes for nothing: its own start."""
    return measure(peer("samply") + ["--version"]).wall


def jobs_options():
    """-j, where this version has it."""
    return {n: ["-j%d" % n] for n in (1, 2)} if "--jobs" in output(STACKREEL, "folded", "--help") else {}


def steady(name, reel, samples, samply, samply_samples, rounds):
    """The samples again and again."""
    repeat = OBJECTS / "bench/repeat"
    built(repeat)
    long = CACHE / "steady.reel"
    short = CACHE / "steady-tenth.reel"
    rows = []
    try:
        for path, n in ((long, STEADY_SAMPLES), (short, STEADY_SAMPLES // 10)):
            output(repeat, max(1, round(n / samples)), reel, path)
        n_long, n_short = (samples * max(1, round(n / samples)) for n in (STEADY_SAMPLES, STEADY_SAMPLES // 10))
        tried = {"all": [STACKREEL, "folded", "-q", long], "tenth": [STACKREEL, "folded", "-q", short]}
        tried.update({"j%d" % n: [STACKREEL, "folded", "-q", *option, long] for n, option in jobs_options().items()})
        taken = alternate(tried, rounds)
        for result in taken.values():
            if isinstance(result, NotRun):
                raise result
        row = Row(STEADY, name, LABELS["samply"], "samples/s", n_long / taken["all"].wall, target=">= 3", note="%d samples" % n_long)
        if samply:
            row.theirs = samply_samples / samply
        else:
            row.why = "samply: not here, or it failed"
        rows.append(row)
        rows.append(Row(GROWTH, name + ": peak memory of %d samples, and of a tenth of them" % n_long, "a tenth", "B",
                        taken["all"].memory, taken["tenth"].memory, "<= 1.1"))
        if "j2" in taken:
            rows.append(Row(GROWTH, name + ": -j2", "-j1", "samples/s", n_long / taken["j2"].wall, n_long / taken["j1"].wall, ">= 1.8"))
    finally:
        captures.remove(long, short)
    return rows


def run(names, quick):
    """All rows of this part."""
    built(STACKREEL)
    rows = []
    rounds = 3 if quick else 5
    for name in names:
        log("replay: " + name)
        try:
            some, data, reel, samples, samply = of_workload(name, quick, rounds)
        except NotRun as error:
            rows.append(Row(PART, name, why=str(error)))
            continue
        rows += some
        if quick and name != names[0]:
            continue
        try:
            rate = max(samply.wall - start_of_samply(data), 0.001) if samply else None
            rows += steady(name, reel, samples, rate, samples, min(rounds, 3))
        except NotRun as error:
            rows.append(Row(STEADY, name, why=str(error)))
    with contextlib.suppress(FileNotFoundError):
        (CACHE / "samply.json.gz").unlink()
    return rows
