# SPDX-License-Identifier: Apache-2.0
"""Bytes per sample of whole files, ours and perf's, and the share of samples that reach the root of the stack."""

import captures
from host import CACHE, RECORDER, STACKREEL, NotRun, built, log, output
from table import Row, geometric_mean

PART = "Bytes a sample, of the whole file; only by default with images of the programs"
PERF = {"perf 8192": ["--call-graph", "dwarf,8192"], "perf 65528": ["--call-graph", "dwarf,65528"],
        "perf -z 8192": ["-z", "--call-graph", "dwarf,8192"], "perf -z 65528": ["-z", "--call-graph", "dwarf,65528"],
        # perf compresses what is in its buffers at once: by default half a megabyte for each CPU.
        "perf -z 65528, -m 16M": ["-z", "-m", "16M", "--call-graph", "dwarf,65528"]}
# The ratio of the first name's file to the second's: for each program, and for the geometric means.
TARGETS = {("ours", "perf -z 8192"): "<= 1"}
SCRUBBED = "<= 0.0167"
MEAN_TARGETS = {("ours", "perf -z 65528"): "<= 0.1", ("ours, --embed=none", "perf -z 65528"): SCRUBBED,
                ("ours, scrubbed", "perf -z 65528"): SCRUBBED}


def perf_info(path, options, frequency, words):
    """The statistics of a perf.data of that many bytes; the file itself is not kept."""
    data, reel = path.with_suffix(".perf.data"), path.with_suffix(".reel")
    try:
        captures.perf_record_to(data, frequency, options, words)
        output(STACKREEL, "import", "-q", data, "-o", reel)
        return captures.info(reel)._replace(bytes=data.stat().st_size)
    finally:
        captures.remove(data, reel)


def of_workload(name, frequency, seconds, quick):
    """Info by name of a way to record."""
    words = captures.command(name, seconds)
    work, found, failed = CACHE / "sizes", {}, {}
    # "ours" has raw stacks.
    reel, changed = work.with_suffix(".reel"), work.with_suffix(".changed.reel")
    captures.remove(reel)
    try:
        for label, options in (("ours, as by default", []), ("ours, --embed=none", ["--embed=none"]),
                               ("ours", ["--embed=none", "--raw-stacks"])):
            captures.record(reel, frequency, words, options)
            found[label] = captures.info(reel)
        for kind, label in (("scrub", "ours, scrubbed"), ("shrink", "ours, shrunk")):
            output(STACKREEL, kind, "-q", reel, "-o", changed)
            found[label] = captures.info(changed)
    finally:
        captures.remove(reel, changed)
    for label, options in PERF.items():
        if label not in ("perf -z 8192", "perf -z 65528") and (frequency != 999 or quick):
            continue
        try:
            found[label] = perf_info(work, options, frequency, words)
        except NotRun as error:
            failed[label] = str(error).replace("%s/" % CACHE, "")
    return found, failed


def per_sample(info):
    return info.bytes / info.samples


def percent(info):
    lost = ", %s lost" % format(info.lost, ",") if info.lost else ""
    return "%.4g %% whole%s" % (info.complete, lost)


def means(frequency, ours, theirs, pairs):
    """For all programs, and for all except the hard one."""
    others = {name: pair for name, pair in pairs.items() if name != captures.HARD}
    for what, some in (("%d programs" % len(pairs), pairs), ("%d programs, without %s" % (len(others), captures.HARD), others)):
        if some and (what.endswith("programs") or len(others) < len(pairs)):
            yield Row(PART, "geometric mean of %s, %d Hz: %s" % (what, frequency, ours), theirs, "bytes",
                      *(geometric_mean(values) for values in zip(*some.values())), target=MEAN_TARGETS.get((ours, theirs), ""))


def run(names, quick):
    """All rows of this part."""
    built(STACKREEL, RECORDER)
    rows, ratios = [], {}
    for frequency, seconds in ((999, 2 if quick else 5),) if quick else ((999, 5), (4999, 2)):
        for name in names:
            log("sizes: %s at %d Hz" % (name, frequency))
            try:
                found, failed = of_workload(name, frequency, seconds, quick)
            except NotRun as error:
                rows.append(Row(PART, "%s, %d Hz" % (name, frequency), why=str(error)))
                continue
            for label, why in failed.items():
                rows.append(Row(PART, "%s, %d Hz" % (name, frequency), label, why=why))
            for ours in [label for label in found if label not in PERF]:
                for theirs in [label for label in found if label in PERF]:
                    ratios.setdefault((frequency, ours, theirs), {})[name] = per_sample(found[ours]), per_sample(found[theirs])
                    # With the others, only the means are shown.
                    if theirs != "perf -z 65528" and (ours, theirs) not in TARGETS:
                        continue
                    rows.append(Row(PART, "%s, %d Hz: %s" % (name, frequency, ours), theirs, "bytes", per_sample(found[ours]),
                                    per_sample(found[theirs]), TARGETS.get((ours, theirs), ""),
                                    note="%s; %s" % (percent(found[ours]), percent(found[theirs]))))
    for (frequency, ours, theirs), pairs in ratios.items():
        rows += means(frequency, ours, theirs, pairs)
    return rows
