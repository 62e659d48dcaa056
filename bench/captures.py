# SPDX-License-Identifier: Apache-2.0
"""Workloads, and recordings of them: perf's, which every peer replays, kept in the cache; and the contents of a
capture."""

import contextlib
import hashlib
import os
import re
import shlex
import subprocess
from collections import namedtuple

from host import CACHE, ENVIRONMENT, RECORDER, ROOT, STACKREEL, NotRun, last_line, log, measure, output, peer

# recursion is descent in random order: harder to compress for everyone, and not typical of the programs that means are
# taken over.
HARD = "recursion"
NAMES = ("exceptions", "descent", "recursion", "threads", "cppcheck", "sqlite", "python", "compile")
# Of many processes or threads: the single program whose rate of replay theirs is compared with.
CROWDS = {"many": "compile", "server": "sqlite", "threads-10k": "threads", "mixed": "sqlite"}
QUICK = ("exceptions", "threads", "sqlite")
# So that about 10,000 samples are recorded at 999 Hz: perf loses a share of those of threads, and g++ does not use a whole CPU.
SECONDS = {"threads": 20, "compile": 14, "many": 13}

Info = namedtuple("Info", "samples complete lost bytes")  # complete: percent


def command(name, seconds):
    """The words of a workload's command, which is built if necessary."""
    result = subprocess.run([str(ROOT / "tests/truth/workloads.sh"), name], capture_output=True, text=True,
                            env={**ENVIRONMENT, "SECONDS_OF_CPU": str(seconds)})
    if result.returncode:
        raise NotRun(last_line(result.stderr, "cannot be built"))
    return shlex.split(result.stdout)


def info(path):
    """The output of `stackreel info`."""
    text = output(STACKREEL, "info", "-q", path)
    samples = re.search(r"^samples\s+([\d,]+)", text, re.M)
    complete = re.search(r"^\s*([\d.]+) %\s+[\d,]+\s+root reached", text, re.M)
    losses = re.search(r"^Losses: (.*)$", text, re.M)
    if not samples or not losses:
        raise NotRun("stackreel info of %s says neither samples nor losses" % path.name)
    lost = sum(int(count.replace(",", "")) for count in re.findall(r" (\d[\d,]*?)(?=, |$)", losses.group(1)))
    return Info(int(samples.group(1).replace(",", "")), float(complete.group(1)) if complete else 0.0, lost, path.stat().st_size)


def remove(*paths):
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


_perf = {}


def perf_record():
    """The words of perf record up to the point where options differ. It requests build-ids in the events of mappings: once any
    recorder on this host did, the kernel marks them as present in everyone's, and perf would read the device's number as one."""
    if not _perf:
        words = peer("perf")
        options = subprocess.run(words + ["record", "-h"], capture_output=True, text=True, errors="replace")
        _perf["words"] = words + ["record", "-q", "-e", "cpu-clock:u"]
        if "--buildid-mmap" in options.stdout + options.stderr:
            _perf["words"].append("--buildid-mmap")
        _perf["version"] = output(*words, "version").strip()
    return _perf["words"]


def perf_record_to(path, frequency, options, words):
    """A perf.data, complete or missing."""
    part = path.with_name(path.name + ".part")
    remove(part)
    try:
        taken = measure(perf_record() + ["-F", str(frequency), "-o", str(part)] + options + ["--"] + words)
        os.replace(part, path)
    finally:
        remove(part)
    return taken


def perf_data(name, quick):
    """perf's recording with all of the stacks of a workload, at 999 Hz: from the cache, if this perf recorded this program already."""
    seconds = 3 if quick else SECONDS.get(name, 10)
    words = command(name, seconds)
    key = hashlib.sha256("\0".join(perf_record() + [_perf["version"]] + words).encode()).hexdigest()[:10]
    path = CACHE / ("%s-%d-%s.perf.data" % (name, seconds, key))
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        log("recording %s with perf" % name)
        for old in CACHE.glob("%s-%d-*.perf.data" % (name, seconds)):
            remove(old)
        perf_record_to(path, 999, ["-m", "16M", "--call-graph", "dwarf,65528"], words)
    return path


def imported(data):
    """A perf.data as a capture, imported anew, and the cost of that."""
    path = data.with_name(data.name.replace(".perf.data", ".reel"))
    return path, measure([STACKREEL, "import", "-q", "--raw-stacks", data, "-o", path])


def record(path, frequency, words, options=()):
    """Our own recording."""
    CACHE.mkdir(parents=True, exist_ok=True)
    return measure([RECORDER, "-q", "-F", frequency, "-o", path, *options, "--", *words])
