#!/usr/bin/env python3
"""Shares of Python functions in samples, against programs/shares.py, which adds up the CPU time of each one: its own, and with its callees;
with Python functions among native ones, and alone. For python3; PYTHONS="python3.9 ..." adds others.

Each difference is at most 1 % of all samples. A function computes for 2 to 24 ms at a time, and the clock has 2 kHz: each time has an error
below one sample, so that a sum of 3,000 of 12,000 samples in 250 parts has a standard deviation of at most sqrt(250 / 4) = 8 samples, 0.07 %.
"""
# run.sh: records thorough
# checks: record/runtime bpf

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)
import counting

BUILD = os.path.abspath(os.environ.get("O", "build"))
PROGRAM = os.path.join(TESTS, "programs", "shares.py")
SECONDS = 3 # of each of two threads
count = counting.Count()


def is_function(frame, name):
    """Before 3.11, code has no qualified name."""
    return re.match(r"(%s|%s) \(shares\.py:\d+\)$" % (re.escape(name), re.escape(name.split(".")[-1])), frame)


def samples_of(folded, names):
    """How many samples each function has at the end, and anywhere."""
    found = {name: [0, 0] for name in names}
    for line in folded.splitlines():
        stack, n = line.rsplit(" ", 1)
        functions = [name for frame in stack.split(";") for name in names if is_function(frame, name)]
        for name in set(functions):
            found[name][1] += int(n)
        if functions:
            found[functions[-1]][0] += int(n)
    return found


def check(python, work):
    version = subprocess.run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
    capture = os.path.join(work, "shares.reel")
    ran = subprocess.run([os.path.join(BUILD, "stackreel-record"), "-q", "-F", "1999", "-o", capture, "--", python, PROGRAM, str(SECONDS)],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if not count.ok("%s: recorded" % version, ran.returncode == 0, ran.stderr.decode()):
        return
    times = json.loads(ran.stdout.decode())
    total = sum(own for own, _ in times.values())
    for mode in "interleaved", "only":
        folded = subprocess.run([os.path.join(BUILD, "stackreel"), "folded", "--runtime=" + mode, capture], stdout=subprocess.PIPE, check=True)
        found = samples_of(folded.stdout.decode(), times)
        n = sum(own for own, _ in found.values())
        count.ok("%s, %s: enough samples" % (version, mode), n > 1000 * SECONDS, str(n))
        worst = 0
        for name, its in times.items():
            for time, samples, kind in zip(its, found[name], ("own", "whole")):
                if time:
                    difference = 100 * (samples / n - time / total)
                    worst = max(worst, abs(difference))
                    count.ok("%s, %s: %s's %s share" % (version, mode, name, kind), abs(difference) < 1,
                             "%.2f %% of the time, %.2f %% of %d samples" % (100 * time / total, 100 * samples / n, n))
        print("%s, %s: %d samples, at most %.2f %% from the time" % (version, mode, n, worst))


def main():
    with tempfile.TemporaryDirectory(prefix="stackreel-shares.") as work:
        for name in ["/usr/bin/python3"] + os.environ.get("PYTHONS", "").split():
            if shutil.which(name):
                check(name, work)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
